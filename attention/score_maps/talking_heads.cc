// Talking heads: the scores or weights of each head become a learned sum over
// heads,
//
//   y_i = sum_j W_ij x_j.
//
// Shazeer et al., "Talking-heads attention", 2020 (arXiv 2003.02436). The
// initial value of W is the identity. The layer is then bit-identical to plain
// attention.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "attention/mask.h"
#include "attention/score_map.h"
#include "attention/score_maps/score_map.pb.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// Inputs of the sum over heads. A score that is masked or -inf in one head adds
// 0 to the other heads.
template <typename T>
struct HeadMixer {
  const T* x;       // [batch, heads, queries, keys]
  const T* weight;  // [heads, heads]
  int64_t heads;
  int64_t queries;
  int64_t keys;
  MaskReader reader;

  int64_t RowOf(int64_t example, int64_t head, int64_t query) const {
    return ((example * heads + head) * queries + query) * keys;
  }

  // Copies the rows of x for one query to `clean` [heads, keys], with masked
  // scores and -inf replaced by 0.
  void Clean(int64_t example, int64_t query, T* clean) const {
    const VisibleKeys visible = reader(example, query);
    for (int64_t h = 0; h < heads; ++h) {
      const T* const row = x + RowOf(example, h, query);
      for (int64_t k = 0; k < keys; ++k) {
        clean[h * keys + k] =
            visible(k) && row[k] != -std::numeric_limits<T>::infinity() ? row[k]
                                                                        : T(0);
      }
    }
  }
};

template <typename T>
void AddScaled(T factor, const T* x, int64_t n, T* sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

template <typename T>
Var<T> MixHeads(Var<T> x, Var<T> weight, const Mask& mask,
                const Positions& positions) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  const Shape& s = x.shape();
  Tape<T>* const tape = &x.tape();
  const int64_t batch = s[0];
  const HeadMixer<T> mixer = {
      x.data(), weight.data(), s[1],
      s[2],     s[3],          MaskReader(mask, positions, s[0], s[2], s[3])};
  const int64_t heads = mixer.heads;
  const int64_t keys = mixer.keys;
  Var<T> y = tape->NewLike(x, x.needs_grad() || weight.needs_grad());
  {
    ScratchScope<T> scratch(*tape);
    T* const clean = scratch.New(heads * keys);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t q = 0; q < mixer.queries; ++q) {
        mixer.Clean(b, q, clean);
        for (int64_t i = 0; i < heads; ++i) {
          const int64_t row = mixer.RowOf(b, i, q);
          T* const out = y.data() + row;
          std::fill_n(out, keys, T(0));
          for (int64_t j = 0; j < heads; ++j) {
            AddScaled(mixer.weight[i * heads + j], clean + j * keys, keys, out);
          }
          for (int64_t k = 0; k < keys; ++k) {
            if (mixer.x[row + k] == kHidden) out[k] = kHidden;
          }
        }
      }
    }
  }
  tape->Record("MixHeads", y, [=] {
    const T* const d_y = y.grad_data();
    T* const d_x = GradToAddTo(x);
    T* const d_weight = GradToAddTo(weight);
    ScratchScope<T> scratch(*tape);
    T* const clean = scratch.New(heads * keys);
    T* const d_out = scratch.New(heads * keys);
    T* const d_clean = scratch.New(keys);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t q = 0; q < mixer.queries; ++q) {
        const VisibleKeys visible = mixer.reader(b, q);
        mixer.Clean(b, q, clean);
        for (int64_t i = 0; i < heads; ++i) {
          const int64_t row = mixer.RowOf(b, i, q);
          for (int64_t k = 0; k < keys; ++k) {
            const bool counts = visible(k) && mixer.x[row + k] != kHidden;
            d_out[i * keys + k] = counts ? d_y[row + k] : T(0);
          }
        }
        for (int64_t j = 0; j < heads; ++j) {
          std::fill_n(d_clean, keys, T(0));
          for (int64_t i = 0; i < heads; ++i) {
            const T* const d = d_out + i * keys;
            AddScaled(mixer.weight[i * heads + j], d, keys, d_clean);
            if (d_weight == nullptr) continue;
            d_weight[i * heads + j] +=
                DotRow(d, static_cast<const T*>(clean + j * keys), keys);
          }
          if (d_x == nullptr) continue;
          const int64_t row = mixer.RowOf(b, j, q);
          for (int64_t k = 0; k < keys; ++k) {
            if (visible(k) && mixer.x[row + k] != kHidden) {
              d_x[row + k] += d_clean[k];
            }
          }
        }
      }
    }
  });
  return y;
}

}  // namespace

// Has the parameter "weight" [heads, heads].
template <typename T>
class TalkingHeads : public ScoreMap<T> {
 public:
  using Options = TalkingHeadsMap;
  static constexpr bool kMixesHeads = true;

  TalkingHeads(const Options&, ParameterScope<T> scope,
               const ScoreWidths& widths) {
    const int64_t heads = widths.heads;
    const auto identity = [heads](const RandomStream&, int64_t index) {
      return index / heads == index % heads ? 1.0 : 0.0;
    };
    weight_ = scope.Add("weight", {heads, heads}, identity);
  }

  Var<T> Map(Forward<T>& forward, Var<T> x,
             const ScoreInputs<T>& in) const override {
    return MixHeads(x, forward[weight_], in.mask, in.positions);
  }

 private:
  Parameter<T> weight_;
};

REGARD_SCORE_MAP(TalkingHeads, "sum_j W_ij s_j over the heads j")

}  // namespace regard
