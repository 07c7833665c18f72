"""A sparse variational process of gpytorch, for interpreters that have it; NumPy beside.

    PYTHON benchmarks/_svgp.py IN.npz OUT.npz

`IN` has X, y, X_new, the kind ("student" or "bernoulli"), the number of inducing points, and the
wall seconds that minibatches may take; the step is divided by ten for the last third of them.
"""

import sys
import time

import gpytorch
import numpy as np
import torch

BATCH, STEP = 1000, 0.01


class Process(gpytorch.models.ApproximateGP):
    """Constant mean and a Gaussian kernel with a length-scale for each column."""

    def __init__(self, Z: torch.Tensor) -> None:
        posterior = gpytorch.variational.CholeskyVariationalDistribution(Z.shape[0])
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, posterior))
        self.mean = gpytorch.means.ConstantMean()
        kernel = gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1])
        kernel.lengthscale = Z.shape[1] ** 0.5
        self.kernel = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        """Return the prior."""
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def main() -> None:
    """Fit, and write means, variances and the noise."""
    data = np.load(sys.argv[1])
    torch.manual_seed(0)
    X, y, X_new = (torch.as_tensor(data[name], dtype=torch.float32) for name in ("X", "y", "X_new"))
    begin = time.perf_counter()
    seconds = float(data["seconds"])
    process = Process(X[torch.randperm(len(X))[: int(data["points"])]].clone())
    regression = str(data["kind"]) == "student"
    likelihoods = gpytorch.likelihoods
    likelihood = (
        likelihoods.StudentTLikelihood() if regression else likelihoods.BernoulliLikelihood()
    )
    bound = gpytorch.mlls.VariationalELBO(likelihood, process, num_data=len(X))
    optimizer = torch.optim.Adam([*process.parameters(), *likelihood.parameters()], lr=STEP)
    steps = 0
    while (share := (time.perf_counter() - begin) / seconds) < 1.0:
        optimizer.param_groups[0]["lr"] = STEP if share < 2.0 / 3.0 else 0.1 * STEP
        rows = torch.randint(len(X), (BATCH,))
        optimizer.zero_grad()
        loss = -bound(process(X[rows]), y[rows])
        loss.backward()
        optimizer.step()
        steps += 1
    process.eval()
    with torch.no_grad():
        latent = process(X_new)
        found = {"mean": latent.mean.numpy(), "variance": latent.variance.numpy()}
        if regression:
            found["nu"] = likelihood.deg_free.numpy().ravel()[0]
            found["scale"] = likelihood.noise.numpy().ravel()[0] ** 0.5
    np.savez(sys.argv[2], epochs=steps * BATCH / len(X), **found)


if __name__ == "__main__":
    main()
