// A weighted mean over all positions so far: sum_s k_s * v_s / sum_s k_s. The
// weights are learned, with 0 < k_s <= 1 for each position and head.
#include <cstdint>
#include <string>

#include "attention/state_mixer.h"
#include "autodiff/ops/cumulative_sum.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "my_mixer.pb.h"
#include "nn/layers/linear.h"

namespace lab {

using ::regard::ConfigProblems;
using ::regard::Forward;
using ::regard::LayerState;
using ::regard::LinearLayer;
using ::regard::MixerSetup;
using ::regard::MixerTerms;
using ::regard::StateMixer;
using ::regard::Var;

template <typename T>
class MyMixer : public StateMixer<T> {
 public:
  using Options = MyMixerOptions;

  MyMixer(const Options& options, const MixerSetup<T>& setup)
      : heads_(options.heads()),
        smallest_(static_cast<T>(options.smallest())),
        sum_(setup.slots.Add("sum")),
        total_(setup.slots.Add("total")),
        key_(setup.scope.Sub("key"), setup.width, heads_, setup.inputs),
        value_(setup.scope.Sub("value"), setup.width, setup.width,
               setup.inputs),
        output_(setup.scope.Sub("output"), setup.width, setup.width,
                setup.output) {}

  static void Validate(const Options& options, const int64_t& width,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
    if (options.heads() > 0 && width % options.heads() != 0) {
      problems.Add("heads", "must divide the width of the layer, " +
                                std::to_string(width) + "; got " +
                                std::to_string(options.heads()));
    }
  }

  // The keys [rows, heads, time, 1] are the weights. There are no queries.
  MixerTerms<T> Project(Forward<T>& forward, Var<T> x,
                        int64_t /*first_position*/,
                        LayerState<T>* /*state*/) const override {
    MixerTerms<T> terms;
    terms.keys =
        Sigmoid(ReshapeToHeads(key_(forward, x))) * (1 - smallest_) + smallest_;
    terms.values = ReshapeToHeads(value_(forward, x));
    return terms;
  }

  Var<T> Step(Forward<T>& /*forward*/, const MixerTerms<T>& terms,
              LayerState<T>* state) const override {
    return Mean(terms.keys * terms.values, terms.keys, state);
  }

  Var<T> Chunk(Forward<T>& /*forward*/, const MixerTerms<T>& terms,
               LayerState<T>* state) const override {
    return Mean(CumulativeSum(terms.keys * terms.values, 2),
                CumulativeSum(terms.keys, 2), state);
  }

  // M[t, s] = k_s / (k_0 + .. + k_t) for s <= t.
  Var<T> Matrix(Forward<T>& forward,
                const MixerTerms<T>& terms) const override {
    const int64_t time = terms.keys.dim(2);
    const Var<T> earlier = forward.tape().Constant({time, time});
    for (int64_t t = 0; t < time; ++t) {
      for (int64_t s = 0; s < time; ++s) earlier.at(t, s) = s <= t ? 1 : 0;
    }
    return Permute(terms.keys, {0, 1, 3, 2}) * earlier /
           CumulativeSum(terms.keys, 2);
  }

  Var<T> Output(Forward<T>& forward, const MixerTerms<T>& /*terms*/,
                Var<T> contexts) const override {
    const Var<T> by_time = Permute(contexts, {0, 2, 1, 3});
    return output_(forward, by_time.Reshape({by_time.dim(0), by_time.dim(1),
                                             by_time.dim(2) * by_time.dim(3)}));
  }

 private:
  // [rows, time, heads * width] -> [rows, heads, time, width].
  Var<T> ReshapeToHeads(Var<T> x) const {
    return Permute(x.Reshape({x.dim(0), x.dim(1), heads_, x.dim(2) / heads_}),
                   {0, 2, 1, 3});
  }

  // Returns the means at these positions from their sums and totals. If there
  // is a state, adds its sums of earlier positions, and updates it to the last
  // position.
  Var<T> Mean(Var<T> sums, Var<T> totals, LayerState<T>* state) const {
    if (state != nullptr) {
      if (state->RowValue(sum_).has_value()) {
        sums = sums + state->RowValue(sum_);
        totals = totals + state->RowValue(total_);
      }
      const int64_t last = sums.dim(2) - 1;
      state->SetRowValue(sum_, Slice(sums, 2, last, 1));
      state->SetRowValue(total_, Slice(totals, 2, last, 1));
    }
    return sums / totals;
  }

  int64_t heads_;
  T smallest_;
  int sum_;
  int total_;
  LinearLayer<T> key_;
  LinearLayer<T> value_;
  LinearLayer<T> output_;
};

REGARD_STATE_MIXER(MyMixer, "S = S + k v, z = z + k, o = S / z")

}  // namespace lab
