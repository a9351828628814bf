"""A convolutional classifier with a training and a test loop."""

import argparse

import ingot
import ingot.nn as nn
import ingot.nn.functional as F
import ingot.optim as optim
from ingot.optim.lr_scheduler import StepLR
from ingot.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=(3, 3), padding="same")
        self.dropout = nn.Dropout(0.25)
        self.fc = nn.Linear(10816, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(ingot.flatten(x, 1))
        return F.log_softmax(self.fc(x), dim=1)


def train(args, model, device, loader, optimizer, epoch):
    model.train()
    for index, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if index % args.log_interval == 0:
            print(f"{epoch} [{index * len(data)}/{len(loader.dataset)}] {loss.item():.6f}")


def test(model: Net, device: ingot.device, loader: DataLoader) -> float:
    model.eval()
    lost = 0.0
    correct = 0
    with ingot.no_grad():
        for data, target in loader:
            output = model(data.to(device))
            lost += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    return 100.0 * correct / len(loader) + lost


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log-interval", type=int, default=10)
    args = parser.parse_args()
    ingot.manual_seed(1)
    device = ingot.device("cuda" if ingot.cuda.is_available() else "cpu")
    data = TensorDataset(ingot.randn(256, 1, 28, 28), ingot.randint(0, 10, (256,)))
    loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=2)
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, 3):
        train(args, model, device, loader, optimizer, epoch)
        test(model, device, loader)
        scheduler.step()
        print(scheduler.get_last_lr()[0])
    ingot.save(model.state_dict(), "mnist.pt")


if __name__ == "__main__":
    main()
