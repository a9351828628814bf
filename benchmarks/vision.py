"""Networks for images, written once against a module `lib` that is ingot or torch. `width` scales the channels."""


def conv_norm(nn, c, out, kernel, stride=1, groups=1, act=None):
    """Convolution, batch norm and an activation."""
    layers = [nn.Conv2d(c, out, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(out)]
    return nn.Sequential(*layers, *([act()] if act else []))


def residual(lib):
    """The class of blocks that add what goes in, through a projection where shapes differ."""
    class Residual(lib.nn.Module):
        def __init__(self, body, shortcut, act):
            super().__init__()
            self.body, self.shortcut, self.act = body, shortcut, act

        def forward(self, x):
            return self.act(self.body(x) + self.shortcut(x))
    return Residual


def resnet(lib, depths, bottleneck=False, width=64, classes=1000, small=False):
    """ResNet. `small` is the form for 32x32 images: a 3x3 stem without pooling."""
    nn, block = lib.nn, residual(lib)
    stem = conv_norm(nn, 3, width, 3 if small else 7, 1 if small else 2, act=nn.ReLU)
    layers, c = [stem] + ([] if small else [nn.MaxPool2d(3, 2, 1)]), width
    for stage, depth in enumerate(depths):
        inner = width << stage
        out = inner * 4 if bottleneck else inner
        for i in range(depth):
            stride = 2 if stage and i == 0 else 1
            if bottleneck:
                body = nn.Sequential(conv_norm(nn, c, inner, 1, act=nn.ReLU),
                                     conv_norm(nn, inner, inner, 3, stride, 1, nn.ReLU),
                                     conv_norm(nn, inner, out, 1))
            else:
                body = nn.Sequential(conv_norm(nn, c, inner, 3, stride, act=nn.ReLU), conv_norm(nn, inner, out, 3))
            shortcut = conv_norm(nn, c, out, 1, stride) if stride > 1 or c != out else nn.Identity()
            layers.append(block(body, shortcut, nn.ReLU()))
            c = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, classes))


def resnet18(lib, **options):
    """ResNet-18."""
    return resnet(lib, (2, 2, 2, 2), **options)


def resnet50(lib, **options):
    """ResNet-50."""
    return resnet(lib, (3, 4, 6, 3), bottleneck=True, **options)


def mobilenet_v2(lib, width=32, classes=1000):
    """MobileNetV2; `width` is the number of channels of the stem."""
    nn, block = lib.nn, residual(lib)

    def channels(n):
        return max(4, n * width // 32)

    c = width
    layers = [conv_norm(nn, 3, c, 3, 2, act=nn.ReLU6)]
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expand, out, repeats, stride in stages:
        for i in range(repeats):
            step, inner, after = stride if i == 0 else 1, c * expand, channels(out)
            widen = [conv_norm(nn, c, inner, 1, act=nn.ReLU6)] if expand > 1 else []
            body = nn.Sequential(*widen, conv_norm(nn, inner, inner, 3, step, inner, nn.ReLU6), conv_norm(nn, inner, after, 1))
            layers.append(block(body, nn.Identity(), nn.Identity()) if step == 1 and c == after else body)
            c = after
    last = channels(1280)
    return nn.Sequential(*layers, conv_norm(nn, c, last, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(last, classes))


def vgg(lib, repeats=(2, 2, 4, 4, 4), width=64, hidden=4096, classes=1000, side=7):
    """VGG with as many 3x3 convolutions a stage as `repeats` says; (2, 2, 4, 4, 4) is VGG-19."""
    nn, layers, c = lib.nn, [], 3
    for stage, count in enumerate(repeats):
        out = width << min(stage, 3)
        for _ in range(count):
            layers += [nn.Conv2d(c, out, 3, padding=1), nn.ReLU()]
            c = out
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), *classifier(nn, c * side * side, hidden, classes))


def classifier(nn, *sizes):
    """The three linear layers at the end of early networks."""
    inputs, hidden, classes = sizes
    return nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)


def alexnet(lib, width=64, hidden=4096, classes=1000, side=6):
    """AlexNet, in the form for one device."""
    nn = lib.nn
    a, b, c, d = width, 3 * width, 6 * width, 4 * width
    return nn.Sequential(
        nn.Conv2d(3, a, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(a, b, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(b, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, d, 3, padding=1), nn.ReLU(), nn.Conv2d(d, d, 3, padding=1),
        nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(), *classifier(nn, d * side * side, hidden, classes))


def mnist_cnn(lib, width=32):
    """The small network of many first tutorials: two convolutions, a pool, two linear layers."""
    nn = lib.nn
    return nn.Sequential(nn.Conv2d(1, width, 3), nn.ReLU(), nn.Conv2d(width, 2 * width, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(2 * width * 144, 4 * width), nn.ReLU(), nn.Linear(4 * width, 10))
