"""Two models of the usual shape, small in width and full in depth."""

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, inside: int, width: int, stride: int, down: bool):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        short = [nn.Conv2d(inside, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)]
        self.downsample = nn.Sequential(*short) if down else None

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        y = self.bn3(self.conv3(y))
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):
    """ResNet-50 with (3, 4, 6, 3) blocks."""

    def __init__(self, blocks: tuple[int, ...], width: int = 8):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inside = width
        for number, count in enumerate(blocks):
            wide = width * 2**number
            stage = []
            for block in range(count):
                stage.append(Bottleneck(inside, wide, 2 if block == 0 and number else 1, block == 0))
                inside = 4 * wide
            setattr(self, f"layer{number + 1}", nn.Sequential(*stage))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inside, 10)

    def forward(self, x):
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Transformer(nn.Module):
    """An encoder with a head, as nn.TransformerEncoderLayer makes it."""

    def __init__(self, layers: int, width: int = 32):
        super().__init__()
        self.embed, self.position = nn.Embedding(50, width), nn.Parameter(torch.zeros(8, width))
        block = [nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True) for _ in range(layers)]
        self.layers = nn.ModuleList(block)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 50)

    def forward(self, tokens):
        x = self.embed(tokens) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
