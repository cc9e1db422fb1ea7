// Score that is the inner product of two projections:
// W_q q . W_k k / sqrt(width).
#include <cmath>
#include <optional>

#include "attention/scoring_kit.h"
#include "my_score.pb.h"

namespace lab {

using ::regard::Forward;
using ::regard::InnerForm;
using ::regard::Parameter;
using ::regard::ParameterScope;
using ::regard::PrepareInputs;
using ::regard::ScoreInputs;
using ::regard::ScoreWidths;
using ::regard::ScoringFunction;
using ::regard::Var;
using ::regard::XavierUniform;

template <typename T>
class MyScore : public ScoringFunction<T> {
 public:
  using Options = MyScoreOptions;

  MyScore(const Options& options, ParameterScope<T> scope,
          const ScoreWidths& widths) {
    const int64_t width = options.width() > 0 ? options.width() : widths.query;
    w_q_ = scope.Add("w_q", {widths.heads, width, widths.query},
                     XavierUniform(width, widths.query));
    w_k_ = scope.Add("w_k", {widths.heads, width, widths.key},
                     XavierUniform(width, widths.key));
  }

  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& in) const override {
    return ProjectHeads(in.keys, forward[w_k_]);
  }

  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override {
    return InnerForm<T>{ProjectHeads(in.queries, forward[w_q_]), in.keys,
                        static_cast<T>(1 / std::sqrt(in.keys.dim(3)))};
  }

 private:
  Parameter<T> w_q_, w_k_;
};

REGARD_SCORING_FUNCTION(MyScore, "W_q q . W_k k / sqrt(width)")

}  // namespace lab
