"""Calibrations against scikit-learn and against what generated the labels."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from labelproof.decisions import IsotonicCalibration, PlattScaling, TemperatureScaling, load_calibration
from labelproof.errors import DataFormatError


def problem(seed=0, n=500, n_labels=4):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, n_labels)) * 2 - np.arange(n_labels)
    return rng.random(z.shape) < expit(z / 2 + 0.3), z


def log_loss(y, u):
    return np.logaddexp(0, u).sum() - u[y].sum()


def test_the_temperature_has_the_largest_likelihood():
    y, z = problem()
    pooled = TemperatureScaling(scores="logits").fit(y, z).temperatures_
    best = minimize(lambda a: log_loss(y, a[0] * z), [1.0], tol=1e-12).x[0]
    assert pooled == pytest.approx([1 / best], rel=1e-5)
    own = TemperatureScaling(scores="logits", pooled=False).fit(y, z).temperatures_
    for j in range(4):
        best = minimize(lambda a, j=j: log_loss(y[:, j], a[0] * z[:, j]), [1.0], tol=1e-12).x[0]
        assert own[j] == pytest.approx(1 / best, rel=1e-5)


def test_probabilities_are_scaled_by_their_logits():
    y, z = problem()
    ours = TemperatureScaling(scores="probabilities").fit(y, expit(z)).transform(expit(z))
    np.testing.assert_allclose(ours, TemperatureScaling(scores="logits").fit(y, z).transform(z), rtol=1e-6)


def test_the_probabilities_0_and_1_are_taken():
    p = np.array([[0.0], [1.0], [0.5], [0.2]])
    transformed = TemperatureScaling(scores="probabilities").fit([[0], [1], [1], [1]], p).transform(p)
    assert np.isfinite(transformed).all()


def test_labels_that_are_never_on_take_the_pooled_temperature():
    y, z = problem()
    y[:, 2], y[:, 3] = False, True
    own = TemperatureScaling(scores="logits", pooled=False).fit(y, z).temperatures_
    assert own[2] == own[3] == TemperatureScaling(scores="logits").fit(y, z).temperatures_[0]


def test_separated_labels_keep_a_finite_temperature():
    z = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    assert 1e-3 <= TemperatureScaling(scores="logits").fit(z > 0, z).temperatures_[0] < 0.1
    assert TemperatureScaling(scores="logits").fit(z < 0, z).temperatures_.tolist() == [1e3]


def test_platts_sigmoid_has_the_largest_likelihood_of_his_targets():
    y, z = problem(1)
    fitted = PlattScaling().fit(y, z)
    for j in range(4):
        m = y[:, j].sum()
        target = np.where(y[:, j], (m + 1) / (m + 2), 1 / (len(y) - m + 2))

        def loss(ab, z=z[:, j], target=target):
            u = ab[0] * z + ab[1]
            return (np.logaddexp(0, u) - target * u).sum()

        best = minimize(loss, [1.0, 0.0], tol=1e-12).x
        np.testing.assert_allclose([fitted.slopes_[j], fitted.offsets_[j]], best, rtol=1e-4, atol=1e-5)


def test_platts_sigmoid_does_not_depend_on_the_scale_of_the_scores():
    y, z = problem(2)
    plain = PlattScaling(pooled=True).fit(y, z).transform(z)
    moved = PlattScaling(pooled=True).fit(y, 1e6 * z + 1e7).transform(1e6 * z + 1e7)
    np.testing.assert_allclose(moved, plain, rtol=1e-6)


def test_constant_scores_and_labels_without_positives_are_fitted_too():
    p = PlattScaling().fit(np.zeros((8, 2)), np.ones((8, 2))).transform(np.ones((1, 2)))
    np.testing.assert_allclose(p, 1 / 10)  # Platt's target for eight negatives


@pytest.mark.parametrize("levels", [None, 2])
def test_isotonic_regression_is_scikit_learns(levels):
    y, z = problem(3)
    z = z if levels is None else np.round(z * levels) / levels
    new = np.random.default_rng(9).uniform(-9, 6, (100, 4))
    ours = IsotonicCalibration().fit(y, z).transform(new)
    pooled = IsotonicCalibration(pooled=True).fit(y, z).transform(new)
    peer = IsotonicRegression(out_of_bounds="clip").fit(z.ravel(), y.ravel())
    np.testing.assert_allclose(pooled, peer.predict(new.ravel()).reshape(new.shape), atol=1e-12)
    for j in range(4):
        peer = IsotonicRegression(out_of_bounds="clip").fit(z[:, j], y[:, j])
        np.testing.assert_allclose(ours[:, j], peer.predict(new[:, j]), atol=1e-12)


EVERY = [
    TemperatureScaling(scores="logits"),
    TemperatureScaling(scores="logits", pooled=False),
    PlattScaling(),
    PlattScaling(pooled=True),
    IsotonicCalibration(),
    IsotonicCalibration(pooled=True),
]


@pytest.mark.parametrize("calibration", EVERY, ids=repr)
def test_calibration_lowers_the_log_loss_and_keeps_the_order(calibration):
    y, z = problem(4, n=3000)
    new_y, new_z = problem(5, n=3000)
    p = np.clip(calibration.fit(y, z).transform(new_z), 1e-3, 1 - 1e-3)
    assert log_loss(new_y, logit(p)) < log_loss(new_y, new_z)
    order = np.argsort(new_z, axis=0)
    assert (np.diff(np.take_along_axis(p, order, axis=0), axis=0) >= 0).all()


@pytest.mark.parametrize("calibration", EVERY, ids=repr)
def test_a_calibration_survives_the_disk(calibration, tmp_path):
    y, z = problem(6)
    calibration.fit(y, z).save(tmp_path / "c.json")
    again = load_calibration(tmp_path / "c.json")
    assert repr(again) == repr(calibration)
    np.testing.assert_array_equal(again.transform(z), calibration.transform(z))


def test_what_is_wrong_with_a_calibration_is_said():
    y, z = problem()
    with pytest.raises(ValueError, match="PlattScaling must be fitted before it transforms"):
        PlattScaling().transform(z)
    with pytest.raises(ValueError, match="y_score must have 4 labels, as in fit, got 2"):
        PlattScaling().fit(y, z).transform(z[:, :2])
    with pytest.raises(ValueError, match="scores must be 'logits' or 'probabilities', got None"):
        TemperatureScaling(scores=None).fit(y, z)
    with pytest.raises(ValueError, match="must be probabilities between 0 and 1"):
        TemperatureScaling(scores="probabilities").fit(y, z)


@pytest.mark.parametrize(
    ("calibration", "change", "message"),
    [
        (EVERY[0], ("temperatures_", [-1.0]), "temperatures_ must be positive, got -1.0"),
        (EVERY[2], ("offsets_", [1.0]), "offsets_ must be as many as slopes_, 4, got 1"),
        (EVERY[4], ("ptr_", [0.0, 1.0]), "ptr_ must ascend from 0 to the number of knots_"),
        (EVERY[4], ("knots_", []), "knots_ must be finite numbers"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(calibration, change, message, tmp_path):
    import json

    calibration.fit(*problem()).save(tmp_path / "c.json")
    record = json.loads((tmp_path / "c.json").read_text())
    record["learned"][change[0]] = change[1]
    (tmp_path / "c.json").write_text(json.dumps(record))
    with pytest.raises(DataFormatError, match=message):
        load_calibration(tmp_path / "c.json")


def test_a_calibration_of_another_class_is_refused(tmp_path):
    PlattScaling().fit(*problem()).save(tmp_path / "c.json")
    with pytest.raises(DataFormatError, match=r"c\.json: expected IsotonicCalibration, got PlattScaling"):
        IsotonicCalibration.load(tmp_path / "c.json")
