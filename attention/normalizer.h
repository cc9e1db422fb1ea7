// What turns the scores of a query into weights: softmax, sparsemax, ...
//
// A normalizer is a plug-in of the attention config. It sees one row at a time,
// with hidden keys already removed; masks, -inf scores, biases and empty rows
// are handled by MaskedNormalize().
#ifndef ATTENTION_NORMALIZER_H_
#define ATTENTION_NORMALIZER_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "attention/normalizers/normalizer.pb.h"
#include "nn/config_problems.h"
#include "nn/option_registry.h"

namespace regard {

template <typename T>
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Adds what is wrong with the options, under paths relative to them. A
  // normalizer with limits declares its own.
  static void Validate(const auto& /*options*/, ConfigProblems&) {}

  // Replaces n >= 1 scores, none of which is -inf, by nonnegative weights. They
  // need not sum to 1. `scratch` holds n numbers.
  virtual void Normalize(int64_t n, T* scores, T* scratch) const = 0;

  // Replaces the gradients of n weights by those of the scores.
  virtual void Backward(int64_t n, const T* weights, T* gradients) const = 0;

  // Softmax has kernels of its own (masked_softmax.h), which agree with its
  // Normalize() and Backward() up to rounding.
  virtual bool IsSoftmax() const { return false; }
};

// The description is the formula of a weight.
struct NormalizerInfo : OptionInfo<> {
  OptionFactory<Normalizer<float>> create_float;
  OptionFactory<Normalizer<double>> create_double;
};

class NormalizerRegistry : public OptionRegistry<NormalizerInfo> {
 public:
  NormalizerRegistry();

  // Adds Plugin<T>, whose Plugin<T>::Options is its options message.
  template <template <typename> class Plugin>
  void Add(absl::string_view formula) {
    Insert({DescribePlugin<Plugin<float>>(formula),
            &CreatePlugin<Plugin<float>, Normalizer<float>>,
            &CreatePlugin<Plugin<double>, Normalizer<double>>});
  }

  // The normalizer of a valid config; softmax if it chooses none.
  template <typename T>
  std::unique_ptr<Normalizer<T>> Create(const NormalizerConfig& config) const {
    return CreateOf<T>(config);
  }
};

// Defines `void RegisterNAME(regard::NormalizerRegistry&)` for the normalizer
// NAME, in the namespace of NAME.
#define REGARD_NORMALIZER(name, formula)                           \
  void Register##name(::regard::NormalizerRegistry& normalizers) { \
    normalizers.Add<name>(formula);                                \
  }

}  // namespace regard

#endif  // ATTENTION_NORMALIZER_H_
