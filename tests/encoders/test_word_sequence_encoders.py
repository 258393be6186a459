"""CNN and GRU over word vectors, and the files that word vectors come in."""

import gzip

import numpy as np
import pytest
import torch
from every_encoder import features_of, gradients, saved_and_loaded

import labelproof.encoders
from labelproof.encoders.vector_files import read_word_vectors
from labelproof.errors import ModelFormatError

TEXTS = ["the fox jumps over the dog", "", "fox", "a dog sleeps", "the dog and the fox"]
both = pytest.mark.parametrize("kind", ["cnn", "gru"])


def cnn_by_hand(encoder, text):
    """The definition: pad the text with zeros on both sides, slide the kernel, tanh, the maximum."""
    numbers = {word: i for i, word in enumerate(encoder.vocabulary.terms, 2)}
    vectors = encoder.embedding.weight.detach().double()[[numbers.get(word, 1) for word in text.split()]]
    kernel = encoder.options.kernel
    zeros = torch.zeros(kernel // 2, vectors.shape[1], dtype=torch.float64)
    padded = torch.cat([zeros, vectors, zeros])
    padded = torch.cat([padded, torch.zeros(max(kernel - len(padded), 0), vectors.shape[1])])
    weight, bias = encoder.convolution.weight.detach().double(), encoder.convolution.bias.detach().double()
    windows = [padded[i : i + kernel].T for i in range(len(padded) - kernel + 1)]
    return torch.stack([((weight * window).sum(dim=(1, 2)) + bias).tanh() for window in windows]).amax(dim=0)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 9])
def test_the_cnn_is_what_its_definition_says(kernel):
    encoder = labelproof.encoders.build("cnn", TEXTS, dim=5, maps=7, kernel=kernel)
    expected = torch.stack([cnn_by_hand(encoder, text) for text in TEXTS])
    torch.testing.assert_close(features_of(encoder, TEXTS).double(), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("pooling", ["max", "mean", "last"])
def test_the_gru_is_torchs_on_each_text_alone(bidirectional, pooling):
    encoder = labelproof.encoders.build("gru", TEXTS, dim=5, hidden=3, bidirectional=bidirectional, pooling=pooling)
    assert encoder.width == (6 if bidirectional else 3)
    numbers = {word: i for i, word in enumerate(encoder.vocabulary.terms, 2)}
    output = features_of(encoder, TEXTS)
    for text, features in zip(TEXTS, output, strict=True):
        words = torch.tensor([numbers[word] for word in text.split()] or [0])
        states, last = encoder.gru(encoder.embedding(words)[None])
        pooled = {"max": states.amax(dim=1)[0], "mean": states.mean(dim=1)[0], "last": last.flatten()}
        torch.testing.assert_close(features, pooled[pooling], atol=1e-6, rtol=1e-5)


@both
def test_padding_changes_neither_output_nor_gradient(kind):
    encoder = labelproof.encoders.build(kind, TEXTS, dim=5).eval()
    words, lengths = encoder.collate(encoder.prepare(TEXTS), np.arange(len(TEXTS)))
    longer = torch.nn.functional.pad(words, (0, 30))
    answers = []
    for padded in (words, longer):
        encoder.zero_grad()
        output = encoder(padded, lengths)
        output.square().sum().backward()
        answers.append([output, *(p.grad.clone() for p in encoder.parameters())])
    torch.testing.assert_close(answers[0], answers[1], atol=1e-5, rtol=1e-4)


@both
def test_the_padding_vector_is_zero_and_stays_so(kind):
    encoder = labelproof.encoders.build(kind, TEXTS, dim=5)
    gradients(encoder, TEXTS)
    assert not encoder.embedding.weight[0].any()
    assert not encoder.embedding.weight.grad[0].any()


@both
def test_unknown_words_share_a_vector_and_are_not_dropped(kind):
    encoder = labelproof.encoders.build(kind, TEXTS, dim=5)
    torch.nn.init.normal_(encoder.embedding.weight)
    strange = features_of(encoder, ["the zebra sleeps", "the yak sleeps", "the sleeps"])
    torch.testing.assert_close(strange[0], strange[1])
    assert not torch.allclose(strange[0], strange[2])


@both
def test_a_long_text_is_cut_off(kind):
    encoder = labelproof.encoders.build(kind, TEXTS, dim=5, max_tokens=3)
    assert np.diff(encoder.prepare(TEXTS).indptr).tolist() == [3, 0, 1, 3, 3]
    assert encoder.vocabulary.terms == ("a", "and", "dog", "fox", "jumps", "sleeps", "the")
    long = "the fox jumps " + "dog " * 100_000
    torch.testing.assert_close(features_of(encoder, [long]), features_of(encoder, ["the fox jumps"]))


@both
def test_rare_words_are_left_out(kind):
    encoder = labelproof.encoders.build(kind, TEXTS, dim=5, min_df=2)
    assert encoder.vocabulary.terms == ("dog", "fox", "the")
    assert labelproof.encoders.build(kind, TEXTS, dim=5, max_words=1).vocabulary.terms == ("dog",)


@both
def test_given_vectors_are_where_the_words_start(kind, glove):
    given = read_word_vectors(glove)
    encoder = labelproof.encoders.build(kind, [*TEXTS, "zebra"], dim=6, vectors=str(glove), train_vectors=False)
    numbers = {word: i for i, word in enumerate(encoder.vocabulary.terms, 2)}
    for word, vector in zip(given.words, given.vectors, strict=True):
        if word in numbers:
            assert np.array_equal(encoder.embedding.weight[numbers[word]].numpy(), vector)
    assert encoder.embedding.weight[numbers["zebra"]].any()
    assert "embedding.weight" not in gradients(encoder, TEXTS)


@both
def test_given_vectors_are_saved_with_the_model(kind, glove, tmp_path):
    encoder = labelproof.encoders.build(kind, TEXTS, dim=6, vectors=str(glove))
    assert "vectors" not in encoder.description()
    assert torch.equal(features_of(saved_and_loaded(encoder, tmp_path / "encoder"), TEXTS), features_of(encoder, TEXTS))


def test_given_vectors_of_another_width_or_other_words_are_refused(glove):
    with pytest.raises(ValueError, match="dim must be 6, as in the file of vectors, got 100"):
        labelproof.encoders.build("cnn", TEXTS, vectors=str(glove))
    with pytest.raises(ModelFormatError, match="expected vectors of words that are in the training texts, got none"):
        labelproof.encoders.build("cnn", ["zebra"], dim=6, vectors=str(glove))


def test_the_paper_s_sizes_are_the_defaults():
    encoder = labelproof.encoders.build("cnn", TEXTS)
    assert encoder.convolution.weight.shape == (500, 100, 4)
    assert (encoder.width, encoder.dropout.p, encoder.options.max_tokens) == (500, 0.2, 2500)


def test_word_vectors_are_read_from_every_form(tmp_path):
    lines = "new york 1 2\nfox 3 4.5\nfox 7 7\n"
    (tmp_path / "plain.txt").write_text("a 0 -1\n" + lines)
    (tmp_path / "header.vec").write_text("4 2\na 0 -1 \n" + lines)
    (tmp_path / "windows.txt").write_bytes(b"\xef\xbb\xbf" + ("a 0 -1\n" + lines).replace("\n", "\r\n").encode())
    with gzip.open(tmp_path / "packed.txt.gz", "wt") as stream:
        stream.write("a 0 -1\n" + lines)
    words = np.array(["a", "new york", "fox", "fox"])
    np.savez(tmp_path / "arrays.npz", words=words, vectors=np.array([[0, -1], [1, 2], [3, 4.5], [7, 7]]))
    for name in ("plain.txt", "header.vec", "windows.txt", "packed.txt.gz", "arrays.npz"):
        given = read_word_vectors(tmp_path / name)
        assert given.words == ("a", "new york", "fox")
        assert given.vectors.tolist() == [[0, -1], [1, 2], [3, 4.5]]
        assert read_word_vectors(tmp_path / name, keep={"fox", "zebra"}).vectors.tolist() == [[3, 4.5]]
        assert read_word_vectors(tmp_path / name, most=2).words == ("a", "new york")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("fox 1 2\ndog 3\n", r"line 2: expected a word and 2 numbers, got 'dog 3'"),
        ("fox\n", r"line 1: expected a word and its numbers, got 'fox'"),
        ("fox 1 2\n\ndog 1 2\n", r"line 2: expected a word and 2 numbers, got ''"),
        ("fox 1 two\n", r"line 1: expected finite numbers, got 'two'"),
        ("fox 1 nan\n", r"line 1: expected finite numbers, got 'nan'"),
        ("fox 1 1e39\n", r"line 1: expected finite numbers, got '1e39'"),
        ("", r"expected a word and its numbers on every line, got no line"),
        ("3 2\n", r"expected a word and its numbers on every line, got no line"),
        (b"fox \xff\xfe 2\n", r"expected a file of word vectors, got .*line 1: expected text in UTF-8, got byte 0xff"),
    ],
)
def test_a_damaged_text_file_of_vectors_is_refused_with_its_line(tmp_path, content, message):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ModelFormatError, match=f"vectors.txt.*{message}"):
        read_word_vectors(path)


def test_a_cut_off_gzip_file_of_vectors_is_refused(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"fox 1 2\n" * 1000)[:-20])
    with pytest.raises(ModelFormatError, match=r"vectors.txt.gz: expected a file of word vectors, got .* cut short"):
        read_word_vectors(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"words": np.array(["a"])}, "expected arrays words and vectors, got words"),
        ({"words": np.array(["a"]), "vectors": np.ones((2, 3))}, r"expected strings words \(n,\) and numbers vectors"),
        ({"words": np.array([1]), "vectors": np.ones((1, 3))}, r"expected strings words \(n,\) and numbers vectors"),
        ({"words": np.array(["a"], object), "vectors": np.ones((1, 3))}, "expected a file of word vectors"),
        ({"words": np.array(["a"]), "vectors": np.full((1, 3), np.inf)}, "expected vectors of finite numbers"),
        ({"words": np.array(["a"]), "vectors": np.full((1, 3), "x")}, "expected vectors of finite numbers"),
        ({"words": np.array(["a"]), "vectors": np.full((1, 3), 1e300)}, "expected vectors of finite numbers"),
    ],
)
def test_a_damaged_archive_of_vectors_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "vectors.npz", **arrays)
    with pytest.raises(ModelFormatError, match=message):
        read_word_vectors(tmp_path / "vectors.npz")


@pytest.mark.parametrize("name", ["none.txt", "none.txt.gz", "none.npz"])
def test_a_missing_file_of_vectors_is_refused(tmp_path, name):
    with pytest.raises(ModelFormatError, match=f"{name}: no such file"):
        read_word_vectors(tmp_path / name)
