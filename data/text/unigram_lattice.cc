#include "data/text/unigram_lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

}  // namespace

UnigramLattice::UnigramLattice(int64_t bytes)
    : bytes_(bytes), last_(bytes + 1, -1) {
  REGARD_CHECK_GT(bytes, 0);
}

void UnigramLattice::Add(int64_t begin, int64_t end, double score) {
  REGARD_CHECK(0 <= begin && begin < end && end <= bytes_)
      << "a piece of bytes " << begin << " to " << end << " of " << bytes_;
  arcs_.push_back({begin, score, last_[end]});
  last_[end] = static_cast<int64_t>(arcs_.size()) - 1;
}

PieceEnds UnigramLattice::Sample(double alpha,
                                 const RandomStream& random) const {
  // log_sums[i] is log(sum(exp(alpha * score))) over all paths that end at byte
  // i.
  std::vector<double> log_sums(bytes_ + 1, kImpossible);
  log_sums[0] = 0;
  const auto log_weight = [&](const Arc& arc) {
    return log_sums[arc.begin] + alpha * arc.score;
  };
  for (int64_t end = 1; end <= bytes_; ++end) {
    double most = kImpossible;
    for (int64_t i = last_[end]; i >= 0; i = arcs_[i].before) {
      most = std::max(most, log_weight(arcs_[i]));
    }
    if (most == kImpossible) continue;
    double sum = 0;
    for (int64_t i = last_[end]; i >= 0; i = arcs_[i].before) {
      sum += std::exp(log_weight(arcs_[i]) - most);
    }
    log_sums[end] = most + std::log(sum);
  }
  REGARD_CHECK(log_sums[bytes_] != kImpossible) << "no path to the end";
  PieceEnds ends;
  for (int64_t end = bytes_; end > 0;) {
    double left = random.UniformAt(ends.size());
    ends.push_back(end);
    // Chooses the first arc at which the sum of probabilities exceeds the
    // random number. If rounding errors prevent that, chooses the last arc.
    int64_t chosen = -1;
    for (int64_t i = last_[end]; i >= 0 && left >= 0; i = arcs_[i].before) {
      const double probability = std::exp(log_weight(arcs_[i]) - log_sums[end]);
      if (probability == 0) continue;
      chosen = i;
      left -= probability;
      if (left < 0) break;
    }
    end = arcs_[chosen].begin;
  }
  std::reverse(ends.begin(), ends.end());
  return ends;
}

std::vector<UnigramLattice::Path> UnigramLattice::NBest(int n) const {
  // A path to a byte: its last arc, and the rank of the path before that arc.
  struct Step {
    double score;
    int64_t arc;
    size_t rank;
    // If scores are equal, the path that was added first is better.
    bool operator<(const Step& other) const {
      return score < other.score || (score == other.score && arc > other.arc);
    }
  };
  std::vector<std::vector<Step>> best(bytes_ + 1);  // by descending score
  best[0] = {{0, -1, 0}};
  for (int64_t end = 1; end <= bytes_; ++end) {
    // Merges the sorted paths that the arcs continue.
    std::priority_queue<Step> next;
    const auto offer = [&](int64_t arc, size_t rank) {
      const std::vector<Step>& to_begin = best[arcs_[arc].begin];
      if (rank < to_begin.size()) {
        next.push({to_begin[rank].score + arcs_[arc].score, arc, rank});
      }
    };
    for (int64_t i = last_[end]; i >= 0; i = arcs_[i].before) offer(i, 0);
    while (!next.empty() && static_cast<int>(best[end].size()) < n) {
      const Step step = next.top();
      next.pop();
      best[end].push_back(step);
      offer(step.arc, step.rank + 1);
    }
  }
  std::vector<Path> paths;
  for (const Step& last : best[bytes_]) {
    Path path = {{}, last.score};
    int64_t end = bytes_;
    for (const Step* step = &last; step->arc >= 0;) {
      path.ends.push_back(end);
      end = arcs_[step->arc].begin;
      step = &best[end][step->rank];
    }
    std::reverse(path.ends.begin(), path.ends.end());
    paths.push_back(std::move(path));
  }
  return paths;
}

PieceEnds UnigramLattice::SampleNBest(int n, double alpha,
                                      const RandomStream& random) const {
  std::vector<Path> paths = NBest(n);
  REGARD_CHECK(!paths.empty()) << "no path to the end";
  std::vector<double> weights;
  double sum = 0;
  for (const Path& path : paths) {
    weights.push_back(std::exp(alpha * (path.score - paths[0].score)));
    sum += weights.back();
  }
  double left = random.UniformAt(0) * sum;
  size_t chosen = 0;
  while (chosen + 1 < paths.size() && left >= weights[chosen]) {
    left -= weights[chosen++];
  }
  return std::move(paths[chosen].ends);
}

}  // namespace regard
