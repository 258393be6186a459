"""Images through a vision model."""

import json
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from every_encoder import features_of, gradients, saved_and_loaded
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

import labelproof.encoders
from labelproof.encoders.image import ImageEncoder
from labelproof.encoders.image_files import Preprocessing, read_picture
from labelproof.errors import DataFormatError, ModelFormatError


class Maps(nn.Module):
    """A module that a user might give: images → maps, with a normalisation that counts in training."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3)
        self.normalisation = nn.BatchNorm2d(4)

    def forward(self, images):
        return self.normalisation(self.convolution(images))


def expected_of(name, folder, model, paths, pooling):
    import transformers

    processor = {
        "vit": transformers.ViTImageProcessorPil,
        "convnext": transformers.ConvNextImageProcessorPil,
        "clip": transformers.CLIPImageProcessorPil,
    }[name].from_pretrained(folder)
    model = model.vision_model if name == "clip" else model
    pixels = processor([Image.open(path) for path in paths], return_tensors="pt")["pixel_values"]
    states = model(pixels).last_hidden_state
    if pooling == "pooler":
        return model(pixels).pooler_output
    if states.ndim == 4:
        return states.mean(dim=(2, 3))
    return states[:, 0] if pooling == "cls" else states.mean(dim=1)


@pytest.mark.parametrize("name", ["vit", "convnext", "clip"])
@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler"])
@torch.no_grad()
def test_the_output_is_that_of_transformers_own_preprocessing_and_model(models, pictures, name, pooling):
    folder, model = models(name)
    expected = expected_of(name, folder, model, pictures, pooling)
    for frozen in (True, False):
        encoder = labelproof.encoders.build("image", pictures, path=str(folder), pooling=pooling, frozen=frozen)
        assert encoder.width == 16
        torch.testing.assert_close(features_of(encoder, pictures), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["convnext", "clip", "vit"])
@pytest.mark.parametrize(("frozen", "pooling"), [(True, "pooler"), (False, "pooler"), (False, "mean")])
def test_other_architectures_are_saved_and_trained_too(models, pictures, name, frozen, pooling, tmp_path):
    encoder = labelproof.encoders.build("image", pictures, path=str(models(name)[0]), frozen=frozen, pooling=pooling)
    loaded = saved_and_loaded(encoder, tmp_path / "encoder")
    assert torch.equal(features_of(loaded, pictures), features_of(encoder, pictures))
    trained = {parameter for parameter, p in encoder.named_parameters() if p.requires_grad}
    assert bool(trained) != frozen
    assert gradients(encoder, pictures) == trained


def test_what_does_not_reach_the_output_is_not_trained(models, pictures):
    folder = str(models("clip")[0])
    by_mean = labelproof.encoders.build("image", pictures, path=folder, frozen=False, pooling="mean")
    by_pooler = labelproof.encoders.build("image", pictures, path=folder, frozen=False, pooling="pooler")
    last = {"model.post_layernorm.weight", "model.post_layernorm.bias"}
    assert {name for name, p in by_mean.named_parameters() if not p.requires_grad} == last
    assert all(p.requires_grad for p in by_pooler.parameters())


@pytest.mark.parametrize("frozen", [True, False])
def test_a_given_module_gives_its_maps_averages(pictures, frozen):
    torch.manual_seed(0)
    module = Maps()
    encoder = labelproof.encoders.build("image", pictures, module=module, frozen=frozen, preprocessing={"height": 16})
    assert encoder.width == 4
    output = features_of(encoder, pictures)
    images = torch.from_numpy(np.stack([encoder.preprocessing.apply(read_picture(path, 10**6)) for path in pictures]))
    assert images.shape == (6, 3, 16, 224)
    torch.testing.assert_close(output, module.eval()(images).mean(dim=(2, 3)).detach())


def test_to_try_a_module_out_leaves_its_statistics_and_mode_alone(pictures):
    module = Maps().train()
    labelproof.encoders.build("image", pictures, module=module, frozen=False)
    assert module.training
    assert module.normalisation.num_batches_tracked == 0


def test_a_frozen_module_keeps_its_statistics_in_training(pictures):
    encoder = labelproof.encoders.build("image", pictures, module=Maps(), preprocessing={"height": 9, "width": 9})
    encoder.train().prepare(pictures)
    assert encoder.model.normalisation.num_batches_tracked == 0


def test_a_given_module_must_be_given_again(pictures, tmp_path):
    torch.manual_seed(0)
    encoder = labelproof.encoders.build("image", pictures, module=Maps(), preprocessing={"height": 9, "width": 9})
    encoder.save_files(tmp_path)
    assert not list(tmp_path.iterdir())
    description = json.loads(json.dumps(encoder.description()))
    with pytest.raises(ModelFormatError, match="made from a given module, which is not saved: pass it to ImageEncoder"):
        labelproof.encoders.load(description, tmp_path)
    loaded = ImageEncoder.from_description(description, tmp_path, module=Maps())
    loaded.load_state_dict(encoder.state_dict())
    assert torch.equal(features_of(loaded, pictures), features_of(encoder, pictures))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "path or module must give the vision model, one of the two, got neither"),
        ({"path": "somewhere", "module": Maps()}, "one of the two, got both"),
        ({"module": nn.Flatten(0)}, r"module must give vectors, tokens or maps .*, got shape \(150528,\)"),
        ({"module": Maps(), "pooling": "pooler"}, "pooling must be 'cls' or 'mean' for a model without pooler_output"),
        ({"module": Maps(), "preprocessing": {"heigth": 5}}, r"heigth is no option here: did you mean height\?"),
        ({"module": Maps(), "preprocessing": {"height": 0}}, "height must be an integer of at least 1, got 0"),
        ({"module": Maps(), "preprocessing": {"resize": [3]}}, r"resize must be an integer of at least 1, got \[3\]"),
        ({"module": Maps(), "preprocessing": {"resample": 9}}, "resample must be the number of a filter .*, got 9"),
        ({"module": Maps(), "preprocessing": {"mean": [0.5]}}, r"mean must be three numbers, got \[0.5\]"),
        ({"module": Maps(), "preprocessing": {"mean": "abc"}}, "mean must be three numbers, got 'abc'"),
        ({"module": Maps(), "preprocessing": {"std": [1, 1, np.nan]}}, "std must be three finite numbers"),
        ({"module": Maps(), "preprocessing": {"std": [1, 1, 0]}}, "std must be positive"),
        ({"module": Maps(), "preprocessing": 5}, "preprocessing must be a mapping, got 5"),
    ],
)
def test_a_wrong_choice_of_model_or_preprocessing_is_refused(pictures, options, message):
    with pytest.raises(ValueError, match=message):
        labelproof.encoders.build("image", pictures, **options)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"size": 32}, Preprocessing(32, 32)),
        ({"size": {"height": 20, "width": 30}, "resample": 3}, Preprocessing(20, 30, None, 3)),
        ({"size": 40, "crop_size": 32}, Preprocessing(32, 32, 40)),
        ({"size": 40, "crop_size": 32, "do_center_crop": False}, Preprocessing(40, 40)),
        (
            {"size": {"height": 40, "width": 40}, "crop_size": {"height": 32, "width": 24}},
            Preprocessing(32, 24, (40, 40)),
        ),
        ({"size": {"shortest_edge": 40}}, Preprocessing(40, 40, 40)),
        ({"size": {"shortest_edge": 28}, "crop_pct": 0.875}, Preprocessing(28, 28, 32)),
        ({"size": {"shortest_edge": 384}, "crop_pct": 0.875}, Preprocessing(384, 384)),
        ({"size": 8, "do_normalize": False}, Preprocessing(8, 8, mean=(0, 0, 0), std=(1, 1, 1))),
        ({}, Preprocessing()),
    ],
)
def test_the_config_of_a_preprocessor_is_understood(config, expected):
    assert Preprocessing.of_config(config) == expected
    assert Preprocessing(**json.loads(json.dumps(expected.described()))) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("[]", "expected an object, got list"),
        ('{"size": {"longest_edge": 5}}', "size must be a number, height and width, or shortest_edge"),
        ('{"size": "big"}', "height must be an integer of at least 1, got 'big'"),
        ('{"rescale_factor": 0.00784}', "rescale_factor must be 1/255 without an offset, got 0.00784"),
        ('{"image_mean": null}', "mean must be three numbers, got None"),
        ('{"rescale_factor": "x"}', "expected the preprocessing of images"),
        ('{"size": {"shortest_edge": 224}, "crop_pct": 0}', "expected the preprocessing of images"),
    ],
)
def test_a_damaged_config_of_a_preprocessor_is_refused(models, pictures, tmp_path, content, message):
    folder = shutil.copytree(models("vit")[0], tmp_path / "copy")
    (folder / "preprocessor_config.json").unlink()
    if content is not None:
        (folder / "preprocessor_config.json").write_text(content)
    with pytest.raises(ModelFormatError, match=f"preprocessor_config.json: .*{message}"):
        labelproof.encoders.build("image", pictures, path=str(folder))


def test_a_pooler_that_was_never_trained_is_refused_where_it_is_needed(models, pictures, tmp_path):
    folder = shutil.copytree(models("vit")[0], tmp_path / "copy")
    weights = {name: tensor for name, tensor in load_file(folder / "model.safetensors").items() if "pooler" not in name}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert labelproof.encoders.build("image", pictures, path=str(folder)).width == 16
    with pytest.raises(ModelFormatError, match=r"expected the weight pooler.dense.bias in the .safetensors file"):
        labelproof.encoders.build("image", pictures, path=str(folder), pooling="pooler")


@pytest.mark.parametrize("frozen", [True, False])
def test_modules_without_parameters_are_taken_and_may_give_vectors_or_maps(pictures, frozen):
    maps, vectors = nn.AdaptiveAvgPool2d(1), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    by_maps, by_vectors = (
        features_of(labelproof.encoders.build("image", pictures, module=module, frozen=frozen), pictures)
        for module in (maps, vectors)
    )
    assert by_vectors.shape == (6, 3)
    torch.testing.assert_close(by_maps, by_vectors)


def test_a_tampered_description_is_refused(models, pictures, tmp_path):
    encoder = labelproof.encoders.build("image", pictures, path=str(models("vit")[0]))
    encoder.save_files(tmp_path)
    for change, message in [
        ({"given": 1}, "given must be True or False, got 1"),
        ({"image": []}, r"image must be an object, got \[\]"),
        ({"image": encoder.image | {"height": -1}}, "height must be an integer"),
        ({"image": encoder.image | {"hight": 1}}, "hight is no option here"),
    ]:
        with pytest.raises(ModelFormatError, match=message):
            labelproof.encoders.load(encoder.description() | change, tmp_path)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "LA", "CMYK", "I;16"])
def test_images_of_every_mode_become_rgb(tmp_path, mode):
    grey = np.tile(np.arange(0, 256, 8, np.uint8), (4, 1))
    if mode == "I;16":
        picture, path = Image.fromarray(grey.astype(np.uint16) * 257), tmp_path / "a.png"
    else:
        picture, path = Image.fromarray(grey).convert(mode), tmp_path / ("a.jpg" if mode == "CMYK" else "a.png")
    picture.save(path, quality=100)
    pixels = np.asarray(read_picture(str(path), 10**6)).astype(int)
    assert pixels.shape == (4, 32, 3)
    if mode != "1":
        assert np.abs(pixels - grey[..., None]).max() <= 8


def test_transparent_pixels_are_white(tmp_path):
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[0, 0] = (200, 100, 50, 255)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    seen = np.asarray(read_picture(str(tmp_path / "a.png"), 100))
    assert seen[0, 0].tolist() == [200, 100, 50]
    assert seen[1, 1].tolist() == [255, 255, 255]


def test_a_rotated_photograph_is_turned_upright(tmp_path):
    picture = Image.fromarray(np.zeros((10, 20, 3), np.uint8))
    exif = picture.getexif()
    exif[0x0112] = 6  # turn by 90 degrees
    picture.save(tmp_path / "a.jpg", exif=exif)
    assert read_picture(str(tmp_path / "a.jpg"), 1000).size == (10, 20)


def test_a_very_long_image_is_cut_before_it_is_resized(tmp_path):
    Image.fromarray(np.zeros((1, 60_000, 3), np.uint8)).save(tmp_path / "a.png")
    array = Preprocessing(224, 224, 256).apply(read_picture(str(tmp_path / "a.png"), 10**6))
    assert array.shape == (3, 224, 224)


def bomb(path, side):
    """A PNG file of a few bytes whose header claims a huge image."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b""))


@pytest.mark.parametrize("side", [8_000, 11_000, 100_000])
def test_a_decompression_bomb_is_refused_before_it_is_unpacked(tmp_path, side):
    bomb(tmp_path / "bomb.png", side)
    with pytest.raises(DataFormatError, match=r"bomb.png: expected at most 50000000 pixels \(max_pixels\), got"):
        read_picture(str(tmp_path / "bomb.png"), 50_000_000)


@pytest.mark.parametrize("content", [b"", b"no image at all", b"%!PS-Adobe-3.0 EPSF-3.0\n"])
def test_what_is_no_image_is_refused(tmp_path, content):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(
        DataFormatError, match=r"a.png: expected an image \(BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP\), got"
    ):
        read_picture(str(tmp_path / "a.png"), 10**6)


def test_a_cut_off_image_is_refused(pictures, tmp_path):
    content = Path(pictures[0]).read_bytes()
    (tmp_path / "a.png").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataFormatError, match=r"a.png: expected an image .*, got: image file is truncated"):
        read_picture(str(tmp_path / "a.png"), 10**6)


def test_paths_are_checked_before_anything_is_computed(models, pictures, tmp_path):
    encoder = labelproof.encoders.build("image", [], path=str(models("vit")[0]))
    with pytest.raises(DataFormatError, match=r"nowhere.png: no such file"):
        encoder.prepare([*pictures, tmp_path / "nowhere.png"])
    with pytest.raises(ValueError, match="inputs must be paths of images, got float at place 1"):
        encoder.prepare([pictures[0], 1.5])
    with pytest.raises(ValueError, match="inputs must be a list of paths of images, got str"):
        encoder.prepare(pictures[0])
    assert len(encoder.prepare(tuple(pictures))) == 6
