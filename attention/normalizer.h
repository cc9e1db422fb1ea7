// Interface of normalizers, such as softmax and sparsemax, which turn the
// scores of a query into weights.
//
// A normalizer is a plug-in of the attention config. Its methods receive one
// row of scores at a time, without the masked keys. MaskedNormalize() handles
// masks, scores of -inf, biases and empty rows. A normalizer is a class with
// two methods and one line of registration:
//
//   template <typename T>
//   class Shares : public Normalizer<T> {
//    public:
//     using Options = SharesNormalizer;
//     Shares(const Options&, ParameterScope<T>, const ScoreWidths&) {}
//     void Normalize(int64_t n, const T*, T* scores, T*) const override {
//       for (int64_t i = 0; i < n; ++i) scores[i] = scores[i] * scores[i] / n;
//     }
//     void Backward(const RowScoresAndWeights<T>& row, T* gradients,
//                   T*) const override {
//       for (int64_t i = 0; i < row.size; ++i) {
//         gradients[i] *= 2 * row.scores[i] / row.size;
//       }
//     }
//   };
//   REGARD_NORMALIZER(Shares, "s_i^2 / n")
//
// A normalizer with learned parameters also defines Parameters(). Normalize()
// and Backward() then receive the parameters of the row's head.
#ifndef ATTENTION_NORMALIZER_H_
#define ATTENTION_NORMALIZER_H_

#include <cstdint>

#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class NormalizerConfig;

// A row of scores, and the weights that Normalize() computed from them.
template <typename T>
struct RowScoresAndWeights {
  int64_t size;  // at least 1
  const T* scores;
  const T* weights;
  const T* parameters;  // parameters of the row's head; null if there are none
};

template <typename T>
class Normalizer {
 public:
  // Whether a weight only depends on its own score and on the number of scores.
  // If so, a config with a sink is an error, because the sink would take no
  // weight from the keys.
  static constexpr bool kIndependentWeights = false;

  virtual ~Normalizer() = default;

  // Adds the problems of the options for these widths, under paths relative to
  // the options. A normalizer with limits other than (range) defines its own
  // Validate().
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // Learned parameters of each head, [heads, count]. Empty if there are none.
  virtual Var<T> Parameters(Forward<T>&) const { return Var<T>(); }

  // Replaces n >= 1 scores, none of which is -inf, by nonnegative weights. The
  // weights need not sum to 1. `parameters` belong to the row's head. `scratch`
  // has n elements.
  virtual void Normalize(int64_t n, const T* parameters, T* scores,
                         T* scratch) const = 0;

  // Replaces the gradients of the weights by the gradients of the scores. Adds
  // the gradients of the head's parameters to `parameter_gradients`.
  virtual void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                        T* parameter_gradients) const = 0;

  // Whether the normalizer is softmax. Softmax has special kernels, which agree
  // with Normalize() and Backward() up to rounding.
  virtual bool IsSoftmax() const { return false; }
};

template <typename T>
using NormalizerFactory =
    PluginFactory<Normalizer<T>, ParameterScope<T>, const ScoreWidths&>;

// A registered normalizer. The description is the formula of a weight.
struct NormalizerInfo : TemplatePluginInfo<NormalizerFactory, ScoreWidths> {
  bool independent_weights;

  template <typename Plugin>
  void Describe() {
    independent_weights = Plugin::kIndependentWeights;
  }
};

// The registered normalizers. Creates softmax if a config chooses no
// normalizer.
class NormalizerRegistry
    : public PluginRegistry<NormalizerConfig, NormalizerInfo> {
 public:
  NormalizerRegistry();
};

#define REGARD_NORMALIZER(name, formula) \
  REGARD_PLUGIN(NormalizerRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_NORMALIZER_H_
