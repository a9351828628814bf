"""A variational autoencoder."""

import ingot
import ingot.utils.data
from ingot import nn, optim
from ingot.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(784, 400)
        self.fc21 = nn.Linear(400, 20)
        self.fc22 = nn.Linear(400, 20)
        self.fc3 = nn.Linear(20, 400)
        self.fc4 = nn.Linear(400, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = ingot.exp(0.5 * logvar)
        eps = ingot.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return ingot.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)
loader = ingot.utils.data.DataLoader(ingot.utils.data.TensorDataset(ingot.rand(64, 784)), batch_size=16, shuffle=True)


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction="sum")
    KLD = -0.5 * ingot.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


for epoch in range(2):
    model.train()
    train_loss = 0
    for batch_idx, (data,) in enumerate(loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print(f"{epoch} {train_loss / len(loader.dataset):.4f}")
with ingot.no_grad():
    sample = model.decode(ingot.randn(64, 20)).cpu().view(64, 1, 28, 28)
    print(sample.numpy().shape)
