"""Two networks that train against each other; images by transposed convolutions."""

import random

import numpy as np

import ingot
import ingot.nn as nn
import ingot.nn.parallel
import ingot.optim as optim

seed = random.randint(1, 10000)
random.seed(seed)
ingot.manual_seed(seed)
ingot.backends.cudnn.benchmark = True
device = ingot.accelerator.current_accelerator() if ingot.accelerator.is_available() else ingot.device("cpu")
shape = (1, 28, 28)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        ingot.nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, nz: int = 100, ngf: int = 8, nc: int = 1):
        super().__init__()

        def block(n_in, n_out, normalize=True):
            layers: list[nn.Module] = [nn.ConvTranspose2d(n_in, n_out, 4, 2, 1, bias=False)]
            if normalize:
                layers.append(nn.BatchNorm2d(n_out, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            *block(ngf * 4, ngf * 2, normalize=False),
            *block(ngf * 2, ngf),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1),
            nn.Tanh(),
        )
        self.linear = nn.Linear(ngf, int(np.prod(shape)))

    def forward(self, z):
        img = self.main(z)
        return img.view(img.size(0), -1)


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.LazyLinear(64), nn.LeakyReLU(0.2), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, x: ingot.Tensor) -> ingot.Tensor:
        return self.net(x).view(-1, 1).squeeze(1)


netG, netD = Generator().to(device), Discriminator()
netG.apply(weights_init)
criterion = nn.BCELoss()
noise = ingot.randn(8, 100, 1, 1, device=device)
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
real_label, fake_label = 1.0, 0.0
for _ in range(2):
    netD.zero_grad()
    real = ingot.rand(8, 1024)
    label = ingot.full((8,), real_label, dtype=real.dtype, device=device)
    errD_real = criterion(netD(real), label)
    errD_real.backward()
    D_x = netD(real).mean().item()
    fake = netG(noise)
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optimizerD.step()
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake), label)
    errG.backward()
    optimizerG.step()
    print("%.4f %.4f %.4f" % ((errD_real + errD_fake).item(), errG.item(), D_x))
ingot.save(netG.state_dict(), f"netG_{seed}.pth")
