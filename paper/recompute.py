"""Recompute the numbers of docs/paper.md from the records, independently of HEROS.

This script does not import HEROS: pandas reads the records, and SciPy computes ranks and correlations. The
paper's numbers come from a separate transcription (published.csv). `python paper/recompute.py` prints rows of
the page's tables and ends with an error if a row on the page is different. With `--write` it corrects these
rows; the text around them must be corrected by hand.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "paper.md"
COLUMNS = {
    "cand_as_published": "cand",
    "random": "random",
    "perform_best_0.1": "perform-best",
    "perform_worst_0.1": "perform-worst",
    "cheapest_0.1": "cheapest",
    "expensive_0.1": "expensive",
    "zeta_0.01_0.1": "zeta .01 .1",
    "zeta_0.05_0.1": "zeta .05 .1",
    "zeta_0.01_0.2": "zeta .01 .2",
    "zeta_0.05_0.2": "zeta .05 .2",
}
WORST = ["cand", "random", "perform-worst"]
EXPLORING = {
    "zeta_0.01": "ζ(.01)",
    "zeta_0.05": "ζ(.05)",
    "perform_best": "perform-best",
    "reward_1": "Reward(1)",
}
ZETAS = [name for name in COLUMNS if name.startswith("zeta")]
RIVALS = {"perform_best_0.1": "perform-best", "cand": "Cand", "everything": "Everything"}
CALLED = {"wisdm": "WISDM", "agr_a": "AGR_a", "rbf_f": "RBF_f", "rbf_m": "RBF_m"}
LABELS = {
    "cand": "CAND as published",
    "random": "random",
    "perform-best": "perform-best",
    "perform-worst": "perform-worst",
    "cheapest": "cheapest",
    "expensive": "expensive",
    "zeta .01 .1": "ζ(.01, .1)",
    "zeta .05 .1": "ζ(.05, .1)",
    "zeta .01 .2": "ζ(.01, .2)",
    "zeta .05 .2": "ζ(.05, .2)",
}


def records(part: str) -> pd.DataFrame:
    """Return the runs of a part."""
    kept = ["auroc", "gamma_share", "kwh", "cpu_seconds"]
    wanted = ["stream", "pool", "policy", "k", "seed", "n_instances", *kept]
    return pd.read_parquet(HERE / "records" / part / "records.parquet", columns=wanted)


def printed(table: str, figure: str = "auroc") -> pd.DataFrame:
    """Return a table of the paper with one row per stream."""
    all_ = pd.read_csv(HERE / "published.csv")
    chosen = all_[(all_.table == table) & (all_.figure == figure)]
    return chosen.pivot_table(index="stream", columns="column", values="value")


def grid(pool: str, figure: str) -> pd.DataFrame:
    """Return our means over seeds (ten on WISDM with perceptrons), per stream (row) and policy (column)."""
    runs = pd.concat([records("grid"), records("seeds")])
    runs = runs.drop_duplicates(["stream", "pool", "policy", "seed"])
    return runs[runs.pool == pool].pivot_table(index="stream", columns="policy", values=figure)


def of_ten(table: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's ten policies under the paper's names."""
    return table[list(COLUMNS)].rename(columns=COLUMNS)


def within(ours: pd.DataFrame, paper: pd.DataFrame) -> float:
    """Return the correlation after subtracting each row's mean."""
    ours, paper = (table.sub(table.mean(axis=1), axis=0) for table in (ours, paper))
    return float(stats.pearsonr(ours.to_numpy().ravel(), paper.to_numpy().ravel()).statistic)


def mean_ranks(table: pd.DataFrame) -> pd.Series:
    """Return the mean rank of each column; rank 1 has the highest value."""
    return table.rank(axis=1, ascending=False).mean()


def near(ours: pd.DataFrame, paper: pd.DataFrame, allowed: pd.Series | float) -> int:
    """Return the number of cells within the allowed difference."""
    limit = pd.Series(allowed, index=paper.index)
    return int((ours - paper).abs().le(limit, axis=0).to_numpy().sum())


def signed_rank(differences: pd.Series) -> float:
    """Return Wilcoxon's exact p-value from all assignments of signs; SciPy has no exact value for ties."""
    values = differences[differences != 0].to_numpy()
    sizes = stats.rankdata(np.round(np.abs(values) / np.abs(values).max(), 9))
    signs = np.array(list(product((0, 1), repeat=len(values))))
    sums, found = signs @ sizes, sizes[values > 0].sum()
    return float(min(1, 2 * min((sums <= found + 1e-9).mean(), (sums >= found - 1e-9).mean())))


def holm(p_values: pd.Series) -> pd.Series:
    """Holm's step-down."""
    ordered = p_values.sort_values()
    return (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1)


def closeness(pool: str, table: str) -> dict[str, list[str]]:
    """Compare a table, and the medians of the paper's rows, with the paper's table."""
    paper = printed(table)
    ours = of_ten(grid(pool, "auroc")).loc[paper.index, paper.columns]
    guess = paper.apply(lambda row: pd.Series(row.median(), paper.columns), axis=1)
    allowed = pd.Series(0.015, paper.index)
    allowed["rbf_f"] = 0.03
    good = [column for column in paper.columns if column not in WORST]
    calm = paper.index.drop("wisdm")
    tau = stats.kendalltau(mean_ranks(ours), mean_ranks(paper)).statistic
    return {
        "cells of 110 within .015 (RBF_f: .03)": [str(near(t, paper, allowed)) for t in (ours, guess)],
        "cells of 110 within .005": [str(near(t, paper, 0.005)) for t in (ours, guess)],
        "mean distance": [f"{(t - paper).abs().to_numpy().mean():.4f}"[1:] for t in (ours, guess)],
        "correlation within rows, ten policies": [short(within(ours, paper)), "–"],
        "the same, the seven good ones": [short(within(ours[good], paper[good])), "–"],
        "the same, without WISDM": [short(within(ours.loc[calm, good], paper.loc[calm, good])), "–"],
        "Kendall's τ of the mean ranks": [short(tau), "–"],
    }


def both() -> dict[str, list[str]]:
    """Perceptrons, then trees."""
    mlp, trees = closeness("mlp50", "II"), closeness("trees50", "appendix")
    return {name: mlp[name] + trees[name] for name in mlp}


def order() -> dict[str, list[str]]:
    """Return the mean ranks of the ten policies beside those computed from the paper's numbers."""
    paper = printed("II")
    ours = mean_ranks(of_ten(grid("mlp50", "auroc")).loc[paper.index])
    theirs = mean_ranks(paper)
    return {LABELS[name]: [f"{ours[name]:.2f}", f"{theirs[name]:.2f}"] for name in ours.index}


def energy() -> dict[str, list[str]]:
    """Return the kWh of one run of each cell: ours with seed 1, and the paper's."""
    first = records("grid").query("seed == 1")
    sums = [
        first[(first.pool == pool) & first.policy.isin(COLUMNS)].kwh.sum() for pool in ("mlp50", "trees50")
    ]
    papers = [printed(table, "kwh").to_numpy().sum() for table in ("II", "appendix")]
    return {
        "kWh, one run of each cell": [f"{sums[0]:.2g}"[1:], "–", f"{sums[1]:.2g}"[1:], "–"],
        "kWh, the paper": [f"{papers[0]:.1f}", "–", f"{papers[1]:.1f}", "–"],
    }


def savings() -> dict[str, list[str]]:
    """Return ζ's loss of AUROC and its savings in the paired cost measurements with perceptrons."""
    auroc, cpu, gamma = grid("mlp50", "auroc"), in_turn("cpu"), in_turn("gamma")
    gained = {(zeta, other): auroc[zeta] - auroc[other] for other in RIVALS for zeta in ZETAS}
    p_values = holm(pd.Series({pair: signed_rank(values) for pair, values in gained.items()}))
    found = {}
    for (zeta, other), values in gained.items():
        saved = [
            share
            for costs in (cpu, gamma)
            for share in (
                (1 - costs[zeta] / costs[other]).median(),
                1 - costs[zeta].sum() / costs[other].sum(),
            )
        ]
        found[f"{LABELS[COLUMNS[zeta]]} against {RIVALS[other]}"] = [
            signed(values.median()),
            f"{(values > 0).sum()} / {(values < 0).sum()}",
            f"{p_values[zeta, other]:.3f}"[1:] if p_values[zeta, other] < 1 else "1",
            *(f"{100 * share:.0f} %".replace("-0 ", "0 ").replace("-", "−") for share in saved),
        ]
    return found


def in_turn(figure: str) -> pd.DataFrame:
    """Return the paired costs, with a row per stream and a column per policy."""
    turns = pd.read_csv(HERE / "records" / "paired" / "mlp.csv").set_index(["stream", "policy"])
    turns["cpu"] = turns[["encode", "evaluate", "choose", "train"]].sum(axis=1)
    turns["gamma"] = turns.gamma_share * turns.n_instances
    return turns[figure].unstack()


def beyond() -> dict[str, list[str]]:
    """Return mean ranks by AUROC of all thirteen policies, paired CPU seconds, and median Σγ per stream."""
    ranks, cpu, shares = (
        mean_ranks(grid("mlp50", "auroc")),
        in_turn("cpu").sum(),
        grid("mlp50", "gamma_share"),
    )
    names = {"reward_1": "Reward(1)", "cand": "Cand", "everything": "Everything"}
    called = {**names, **{name: LABELS[COLUMNS[name]] for name in (*ZETAS, "perform_best_0.1")}}
    return {
        f"{label}, of thirteen": [
            f"{ranks[name]:.2f}",
            f"{cpu[name]:.1f}",
            f"{100 * shares[name].median():.0f} %",
        ]
        for name, label in called.items()
    }


def ensembles() -> dict[str, list[str]]:
    """Return mean ranks of Table III on all and on distinct streams, and CPU times on an idle machine."""
    runs = records("rivals")
    runs["stream"] = runs.stream.str.replace(r"_\d+k?$", "", regex=True)
    table = runs.pivot_table(index="stream", columns="policy", values="auroc")
    four = table[["arf", "srp", "shrubs", "zeta_0.05_0.2"]]
    alone = records("alone")
    alone["microseconds"] = alone.cpu_seconds / alone.n_instances
    times = alone.pivot_table(index="stream", columns="policy", values="microseconds")[four.columns]
    return {
        "CPU time alone, theirs / ours": [f"{v:.1f}" for v in times.div(times.iloc[:, -1], axis=0).median()],
        "eleven streams": [f"{value:.2f}" for value in mean_ranks(four)],
        "nine distinct ones": [f"{value:.2f}" for value in mean_ranks(four.drop(["agr_g", "led_g"]))],
        "the paper's figures, whole streams": [
            f"{value:.2f}" for value in mean_ranks(printed("III"))[["arf", "srp", "shrubs", "heros"]]
        ],
    }


def tried() -> dict[str, list[str]]:
    """Return the AUROC of single runs (seed 1) with our assumptions on open points, and with alternatives."""
    runs = pd.read_csv(HERE / "records" / "assumptions" / "runs.csv")
    found = {}
    for (point, stream, policy), some in runs.groupby(["point", "stream", "policy"], sort=False):
        first, *others = (f"{run.taken}: {run.auroc:.4f}".replace(" 0.", " .") for run in some.itertuples())
        found[f"{point}; {CALLED.get(stream, stream)}, {LABELS[COLUMNS[policy]]}"] = [
            first,
            "; ".join(others),
        ]
    return found


def third_drift() -> dict[str, list[str]]:
    """Return Σγ per step of ζ(.05, .1) on AGR: 50,000 instances before the third drift and at the end."""
    found = {}
    fifty, twenty, other = spending("grid", "mlp50"), spending("drifts", "mlp20"), spending("twenty", "mlp20")
    runs = {"AGR_a": fifty.loc["agr_a"], "AGR_g": fifty.loc["agr_g"]} | {
        "AGR_a, M = 20": twenty.loc["agr_a"],
        "AGR_a, M = 20, widths 16 and 256": other.loc["agr_a"],
    }
    for label, run in runs.items():
        end, spent = np.array(run.curve_end_int64), np.array(run.curve_spent_float)
        share = spent / np.diff(end, prepend=0)
        parts = [share[(end > first) & (end <= first + 50_000)].mean() for first in (675_000, 950_000)]
        found[f"Σγ of ζ(.05, .1) on {label}"] = [short(value) for value in parts]
    return found


def spending(part: str, pool: str) -> pd.DataFrame:
    """Return the ends of the windows in ζ(.05, .1)'s first runs, and Σγ of each window, per stream."""
    columns = ["stream", "pool", "policy", "seed", "curve_end_int64", "curve_spent_float"]
    runs = pd.read_parquet(HERE / "records" / part / "records.parquet", columns=columns)
    first = (runs.pool == pool) & (runs.policy == "zeta_0.05_0.1") & (runs.seed == 1)
    return runs[first].set_index("stream")


def wisdm() -> dict[str, list[str]]:
    """Return WISDM means: the paper's three seeds, our ten, and three with different rounding of sums."""
    paper, ten, otherwise = printed("II").loc["wisdm"], records("seeds"), records("rounding")
    found = {}
    for name in ["perform_best_0.1", "perform_worst_0.1", "cheapest_0.1", "expensive_0.1", *ZETAS]:
        column = COLUMNS[name]
        cells = [f"{paper[column]:.4f}"[1:]]
        for runs in (ten, otherwise):
            auroc = runs[runs.policy == name].auroc
            cells += [str(len(auroc)), f"{auroc.mean():.4f} ± {auroc.std():.4f}".replace("0.", ".")]
        found[f"seeds, {LABELS[column]}"] = cells
    return found


def exploring() -> dict[str, list[str]]:
    """Return AUROC and Σγ with and without exploration on whole streams, over the seeds of all runs."""
    with_it, greedy = records("grid"), records("greedy")
    runs = pd.concat([with_it[with_it.pool == "mlp50"], greedy])
    found = {}
    for stream in greedy.stream.unique():
        ours = runs[(runs.stream == stream) & runs.seed.isin(greedy[greedy.stream == stream].seed)]
        for name, called in EXPLORING.items():
            tried = [ours[ours.policy == policy] for policy in (name, f"{name}_0.1", f"{name}_0.2")]
            found[f"{CALLED.get(stream, stream)}, {called}"] = [
                figures(some) if len(some) else "–" for some in tried
            ]
    return found


def figures(runs: pd.DataFrame) -> str:
    """Return the mean AUROC and the mean Σγ of some runs."""
    return f"{runs.auroc.mean():.4f}, {100 * runs.gamma_share.mean():.0f} %"[1:]


def limits() -> dict[str, list[str]]:
    """Compare trees with other limits, k and grace periods with the paper's, on streams with such runs.

    The last value is the mean distance of the ten policies from the paper.
    """
    paper, runs = printed("appendix"), records("grid")
    names = ["cheapest_0.1", "expensive_0.1", "perform_best_0.1", "random"]
    others = {"unlimited": "without limits", "trees30": "with limits, k = 30"} | {
        "sooner": "with limits, half the grace periods",
        "later": "with limits, twice the grace periods",
    }
    by_label = {"with limits": runs[runs.pool == "trees50"]}
    by_label |= {label: records(part) for part, label in others.items()}
    seeds = {stream: set(some.seed) for stream, some in by_label["without limits"].groupby("stream")}
    tables = {}
    for label, some in by_label.items():
        alike = [row.seed in seeds.get(row.stream, ()) for row in some.itertuples()]
        tables[label] = some[alike].pivot_table(index="stream", columns="policy", values="auroc")
    found = {}
    for stream in tables["without limits"].index:
        head = CALLED.get(stream, stream)
        printed_ = [f"{paper.loc[stream, COLUMNS[name]]:.4f}"[1:] for name in names]
        found[f"{head}, the paper"] = [*printed_, "–"]
        for label, table in tables.items():
            if stream not in table.index:
                continue
            far = (of_ten(table).loc[stream] - paper.loc[stream]).abs().mean()
            found[f"{head}, {label}"] = [f"{v:.4f}"[1:] for v in (*table.loc[stream, names], far)]
    return found


def other_k() -> dict[str, list[str]]:
    """Return AUROC and Σγ of ζ(.05) for five k on the first instances of three streams (perceptrons)."""
    runs = records("sweep").set_index(["stream", "policy", "k"]).sort_index()
    streams = ("electricity", "rbf_f", "agr_a")
    policies = {"ε = 0": "zeta_0.05", "ε = .1": "zeta_0.05_0.1", "ε = .2": "zeta_0.05_0.2"}
    return {
        f"{CALLED.get(stream, stream)}, ζ(.05), {label}": [
            figures(runs.loc[[(stream, name, k)]]) for k in (5, 10, 20, 30, 40)
        ]
        for stream in streams
        for label, name in policies.items()
    }


def beginnings() -> dict[str, list[str]]:
    """Return mean ranks by AUROC on the first instances of nine streams, with and without exploration."""
    runs = records("sweep")
    table = runs[runs.k == 30].pivot_table(index="stream", columns="policy", values="auroc")
    ranks = mean_ranks(table.drop(columns="perform_best_0.2"))
    names = EXPLORING | {"cand": "Cand", "everything": "Everything"}
    return {
        f"{label}, beginnings": [
            f"{ranks[policy]:.2f}" if policy in ranks else "–"
            for policy in (name, f"{name}_0.1", f"{name}_0.2")
        ]
        for name, label in names.items()
    }


def signed(value: float) -> str:
    """Format a number with its sign and four digits."""
    text = f"{value:+.4f}".replace("0.", ".").replace("-", "−")
    return ".0000" if text[1:] == ".0000" else text


def choosing() -> dict[str, list[str]]:
    """Return the share of CPU time for choosing: paired and alone on electricity, and the paired median."""
    names = ["cand_as_published", "cand", "perform_best_0.1", "zeta_0.01_0.1", "zeta_0.05_0.1"]
    phases = ["encode", "evaluate", "choose", "train"]
    columns = ["stream", "pool", "policy", *(f"cpu_{phase}" for phase in phases)]
    alone = pd.read_parquet(HERE / "records" / "phases" / "records.parquet", columns=columns)
    alone = alone[alone.stream == "electricity"].groupby(["pool", "policy"])[columns[3:]].mean()
    shares = alone.cpu_choose / alone.sum(axis=1)
    found: dict[str, list[str]] = {}
    for base, pool in {"mlp": "mlp50", "trees": "trees50"}.items():
        turns = pd.read_csv(HERE / "records" / "paired" / f"{base}.csv").set_index(["policy", "stream"])
        share = turns.choose / turns[phases].sum(axis=1)
        for name in names:
            label = {**RIVALS, **{key: LABELS[value] for key, value in COLUMNS.items()}}[name]
            values = share[name]["electricity"], shares[pool, name], share[name].median()
            found.setdefault(f"choosing, {label}", []).extend(f"{100 * value:.1f} %" for value in values)
    said = {"choosing, perform-best": "–", "choosing, ζ(.01, .1)": "< 18 %", "choosing, ζ(.05, .1)": "< 18 %"}
    return {name: [*cells, said.get(name, "> 32 %")] for name, cells in found.items()}


def short(value: float) -> str:
    """Format a number with two digits and without the leading zero."""
    return f"{value:.2f}".replace("0.", ".", 1)


def stated(page: Path) -> dict[str, list[str]]:
    """Return the rows of all tables on the page by their first cell, without emphasis."""
    lines = page.read_text(encoding="utf-8").replace("**", "").splitlines()
    rows = [cells_of(line) for line in lines if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}


def put_right(page: Path, found: dict[str, list[str]]) -> None:
    """Write these rows into the tables of the page; bold cells stay bold."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        name, *old = cells_of(line) if line.startswith("|") else [""]
        new = found.get(name.replace("**", ""), [])
        if len(old) == len(new) > 0:
            pairs = zip(old, new, strict=True)
            kept = [f"**{cell}**" if before.startswith("**") else cell for before, cell in pairs]
            lines[number] = f"| {' | '.join([name, *kept])} |"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def cells_of(row: str) -> list[str]:
    """Return the cells of a table row."""
    return [cell.strip() for cell in row.strip("|").split("|")]


def main() -> int:
    """Print every number, and mark the numbers that differ on the page."""
    options = argparse.ArgumentParser(description="Recompute the tables of the page from the records.")
    options.add_argument("--write", action="store_true", help="correct the rows that differ on the page")
    write = options.parse_args().write
    parts = (
        both,
        order,
        energy,
        savings,
        beyond,
        ensembles,
        tried,
        third_drift,
        wisdm,
        exploring,
        other_k,
        beginnings,
        limits,
        choosing,
    )
    found = {name: cells for part in parts for name, cells in part().items()}
    if write:
        put_right(PAGE, found)
    said = stated(PAGE)
    wrong = [name for name, cells in found.items() if said.get(name) != cells]
    for name, cells in found.items():
        mark = f"   <- docs: {said.get(name)}" if name in wrong else ""
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |{mark}\n")
    sys.stdout.write(f"{len(found)} rows, {len(wrong)} of which differ on the page or are missing\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
