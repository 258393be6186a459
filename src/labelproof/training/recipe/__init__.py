"""The best model without options: views, members, calibration and blend, all chosen on out-of-fold scores."""
