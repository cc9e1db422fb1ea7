#include "attention/kernels/relative_scores.h"

#include <algorithm>

#include "autodiff/kernels/gemm.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Maximum number of rows of x per matrix product. The product uses every row of
// the table that at least one of these rows needs.
constexpr int64_t kBlock = 64;

// Returns the first split point after `distance`. Split points are at
// kGemmDepth / 2 plus the multiples of kGemmDepth.
int64_t NextCut(int64_t distance) {
  const int64_t into = (distance - kGemmDepth / 2) % kGemmDepth;
  return distance - into + (into < 0 ? 0 : kGemmDepth);
}

struct Block {
  int64_t first;      // first row of x
  int64_t rows;       // number of rows of x
  int64_t distance;   // lowest distance of a pair
  int64_t distances;  // number of successive distances
};

// Divides the rows of x, which are queries or keys, into blocks. Unless all
// rows have the same distances, a block has at most as many rows as a row has
// distances. At most half of the inner products are therefore unused.
class Blocks {
 public:
  // Pairs at a distance of `max_position` or more are in no block.
  Blocks(const RelativeScorePairs& at, int64_t max_position, bool rows_are_keys)
      : at_(at),
        max_position_(max_position),
        rows_are_keys_(rows_are_keys),
        rows_(rows_are_keys ? at.keys : at.queries) {
    // Number of distances that each further row adds to a block.
    const int64_t skew = rows_are_keys ? 1 : at.at.query_step;
    const int64_t needed =
        rows_are_keys ? at.at.query_step * (at.queries - 1) + 1 : at.keys;
    size_ = skew == 0 ? rows_ : std::clamp<int64_t>(needed, 1, kBlock);
  }

  int64_t rows() const { return rows_; }
  // An upper bound on rows * distances of a block.
  int64_t max_products() const {
    const int64_t rows = std::min(size_, rows_);
    return rows * std::min(Unlimited(0, rows).distances, 2 * max_position_ - 1);
  }

  template <typename F>
  void ForEach(F f) const {
    for (int64_t first = 0; first < rows_; first += size_) {
      const Block block = At(first, std::min(size_, rows_ - first));
      if (block.distances > 0) f(block);
    }
  }

  // Calls f(query, key, product) for the pairs of a block. `product` is the
  // index of the pair's inner product in an array [rows, distances].
  template <typename F>
  void ForEachPair(const Block& block, F f) const {
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t row = block.first + i;
      const int64_t products = i * block.distances;
      if (rows_are_keys_) {
        for (int64_t l = 0; l < at_.queries; ++l) {
          const int64_t at = at_.at.Offset(l) - row - block.distance;
          if (at < 0 || at >= block.distances) continue;
          f(l, row, products + at);
        }
      } else {
        const int64_t first = at_.at.Offset(row) - block.distance;
        const int64_t begin = std::max<int64_t>(0, first - block.distances + 1);
        const int64_t end = std::min(at_.keys, first + 1);
        for (int64_t r = begin; r < end; ++r) f(row, r, products + first - r);
      }
    }
  }

 private:
  Block At(int64_t first, int64_t rows) const {
    const Block all = Unlimited(first, rows);
    const int64_t lowest = std::max(all.distance, 1 - max_position_);
    const int64_t end = std::min(all.distance + all.distances, max_position_);
    return {first, rows, lowest, end - lowest};
  }

  Block Unlimited(int64_t first, int64_t rows) const {
    const int64_t last = first + rows - 1;
    const int64_t lowest = rows_are_keys_
                               ? at_.at.Offset(0) - last
                               : at_.at.Offset(first) - (at_.keys - 1);
    const int64_t highest = rows_are_keys_
                                ? at_.at.Offset(at_.queries - 1) - first
                                : at_.at.Offset(last);
    return {first, rows, lowest, highest - lowest + 1};
  }

  RelativeScorePairs at_;
  int64_t max_position_;
  bool rows_are_keys_;
  int64_t rows_;
  int64_t size_;
};

template <typename T>
Var<T> RelativeScores(Var<T> x, Var<T> table, const RelativeScorePairs& at,
                      bool rows_are_keys) {
  const int64_t width = x.dim(3);
  REGARD_CHECK(table.shape().rank() == 2 && table.dim(0) % 2 == 1 &&
               table.dim(1) == width)
      << "a table of " << table.shape() << " for " << x.shape();
  const int64_t max_position = (table.dim(0) + 1) / 2;
  const int64_t lowest = at.at.Offset(0) - (at.keys - 1);
  const int64_t highest = at.at.Offset(at.queries - 1);
  const bool known = -lowest < max_position && highest < max_position;
  REGARD_CHECK(known || (at.window > 0 && at.window <= max_position))
      << "relative positions " << lowest << " to " << highest
      << ", but the embedding has those below " << max_position;
  const Blocks blocks(at, max_position, rows_are_keys);
  REGARD_CHECK_EQ(x.dim(2), blocks.rows());
  const int64_t sources = x.dim(0) * x.dim(1);
  const int64_t rows = blocks.rows();
  const int64_t keys = at.keys;
  const int64_t pairs = at.queries * keys;
  Tape<T>& tape = TapeOf("RelativeScores", x, table);
  Var<T> scores = tape.New({x.dim(0), x.dim(1), at.queries, keys},
                           x.needs_grad() || table.needs_grad());
  if (pairs == 0) return scores;
  if (!known) std::fill_n(scores.data(), scores.size(), T(0));
  const auto x_at = [=](int64_t source, const Block& block) {
    return (source * rows + block.first) * width;
  };
  const auto table_at = [=](const Block& block) {
    return (block.distance + max_position - 1) * width;
  };
  {
    ScratchScope<T> scratch(tape);
    T* const products = scratch.New(blocks.max_products());
    for (int64_t source = 0; source < sources; ++source) {
      T* const out = scores.data() + source * pairs;
      blocks.ForEach([&](const Block& block) {
        Gemm(ConstMatrix<T>(x.data() + x_at(source, block), block.rows, width),
             ConstMatrix<T>(table.data() + table_at(block), block.distances,
                            width)
                 .Transposed(),
             MutableMatrix<T>(products, block.rows, block.distances));
        blocks.ForEachPair(block, [&](int64_t l, int64_t r, int64_t product) {
          out[l * keys + r] = products[product];
        });
      });
    }
  }
  tape.Record("RelativeScores", scores, [=] {
    T* const d_x = GradToAddTo(x);
    T* const d_table = GradToAddTo(table);
    ScratchScope<T> scratch(scores.tape());
    T* const d_products = scratch.New(blocks.max_products());
    for (int64_t source = 0; source < sources; ++source) {
      const T* d_out = scores.grad_data() + source * pairs;
      blocks.ForEach([&](const Block& block) {
        std::fill_n(d_products, block.rows * block.distances, T(0));
        blocks.ForEachPair(block, [&](int64_t l, int64_t r, int64_t product) {
          d_products[product] += d_out[l * keys + r];
        });
        const ConstMatrix<T> d(d_products, block.rows, block.distances);
        if (d_x != nullptr) {
          // The matrix product is split at fixed distances, so that the
          // gradient of a row is bit-identical wherever its block begins. A
          // short sequence needs only one product.
          int64_t begin = 0;
          while (begin < block.distances) {
            const int64_t next = NextCut(block.distance + begin);
            const int64_t count =
                std::min(next - block.distance, block.distances) - begin;
            Gemm(ConstMatrix<T>(d_products + begin, block.rows, count,
                                block.distances),
                 ConstMatrix<T>(table.data() + table_at(block) + begin * width,
                                count, width),
                 MutableMatrix<T>(d_x + x_at(source, block), block.rows, width),
                 GemmMode::kAdd);
            begin += count;
          }
        }
        if (d_table != nullptr) {
          Gemm(
              d.Transposed(),
              ConstMatrix<T>(x.data() + x_at(source, block), block.rows, width),
              MutableMatrix<T>(d_table + table_at(block), block.distances,
                               width),
              GemmMode::kAdd);
        }
      });
    }
  });
  return scores;
}

}  // namespace

template <typename T>
Var<T> RelativeQueryScores(Var<T> queries, Var<T> table,
                           const RelativeScorePairs& positions) {
  return RelativeScores(queries, table, positions, /*rows_are_keys=*/false);
}

template <typename T>
Var<T> RelativeKeyScores(Var<T> keys, Var<T> table,
                         const RelativeScorePairs& positions) {
  return RelativeScores(keys, table, positions, /*rows_are_keys=*/true);
}

REGARD_INSTANTIATE_FUNCTION(RelativeQueryScores);
REGARD_INSTANTIATE_FUNCTION(RelativeKeyScores);

}  // namespace regard
