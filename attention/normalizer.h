// What turns the scores of a query into weights: softmax, sparsemax, ...
//
// A normalizer is a plug-in of the attention config. It sees one row at a time,
// with hidden keys already removed; masks, -inf scores, biases and empty rows
// are handled by MaskedNormalize().
#ifndef ATTENTION_NORMALIZER_H_
#define ATTENTION_NORMALIZER_H_

#include <cstdint>

#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class NormalizerConfig;

template <typename T>
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Adds what is wrong with the options, under paths relative to them. A
  // normalizer with limits besides (range) declares its own.
  static void Validate(const auto& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // Replaces n >= 1 scores, none of which is -inf, by nonnegative weights. They
  // need not sum to 1. `scratch` holds n numbers.
  virtual void Normalize(int64_t n, T* scores, T* scratch) const = 0;

  // Replaces the gradients of n weights by those of the scores.
  virtual void Backward(int64_t n, const T* weights, T* gradients) const = 0;

  // Whether it is softmax, for which attention has kernels of its own. They
  // agree with Normalize() and Backward() up to rounding.
  virtual bool IsSoftmax() const { return false; }
};

template <typename T>
using NormalizerFactory = OptionFactory<Normalizer<T>>;

// The description is the formula of a weight. Softmax serves where a config
// chooses none.
class NormalizerRegistry
    : public PluginRegistry<NormalizerConfig, NumericInfo<NormalizerFactory>> {
 public:
  NormalizerRegistry();
};

#define REGARD_NORMALIZER(name, formula) \
  REGARD_PLUGIN(NormalizerRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_NORMALIZER_H_
