// Interface of head outputs. A head output is a function of each head's context
// and of the layer's input, such as a gate. The output projection of multi-head
// attention reads the result of the head output. Without a head output, the
// projection reads the contexts side by side.
//
// A head output is a class with two methods and one line of registration:
//
//   template <typename T>
//   class HalfOutput : public HeadOutput<T> {
//    public:
//     using Options = HalfOutputOptions;
//     HalfOutput(const Options&, ParameterScope<T>,
//                const HeadOutputWidths& widths)
//         : width_(widths.heads * widths.value) {}
//     int64_t Width() const override { return width_; }
//     Var<T> Output(Forward<T>&, Var<T> context, Var<T> /*x*/) const override {
//       const Var<T> half = context / 2;
//       return half.Reshape({context.dim(0), context.dim(1), width_});
//     }
//
//    private:
//     int64_t width_;
//   };
//   REGARD_HEAD_OUTPUT(HalfOutput, "c / 2")
#ifndef ATTENTION_HEAD_OUTPUT_H_
#define ATTENTION_HEAD_OUTPUT_H_

#include <cstdint>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class HeadOutputConfig;

// The sizes that a head output is constructed with.
struct HeadOutputWidths {
  int64_t heads = 1;
  // The numbers of key heads and of value heads, which divide `heads`.
  // Successive heads share a key head and a value head.
  int64_t key_heads = heads;
  int64_t value_heads = heads;
  int64_t value = 0;  // width of each head's context
  int64_t input = 0;  // width of the layer's input
  // Initializer of the layer's weights. A head output should use it for its own
  // weights.
  WeightInitializer initialization = XavierUniform;
};

template <typename T>
class HeadOutput {
 public:
  // Number of successive heads that the head output joins. These heads share a
  // key head and a value head, so kJoinedHeads must divide heads / key_heads
  // and heads / value_heads.
  static constexpr int64_t kJoinedHeads = 1;

  virtual ~HeadOutput() = default;

  // Adds the problems of the options for these widths, under paths relative to
  // the options. A head output with limits other than (range) defines its own
  // Validate().
  static void Validate(const auto& options, const HeadOutputWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // The number of columns of Output(). At least 1.
  virtual int64_t Width() const = 0;

  // context [batch, queries, heads, value width] and x [batch, queries, input]
  // -> [batch, queries, Width()]. Must compute each query independently,
  // because a decoder calls Output() for one position at a time.
  virtual Var<T> Output(Forward<T>& forward, Var<T> context,
                        Var<T> x) const = 0;
};

template <typename T>
using HeadOutputFactory =
    PluginFactory<HeadOutput<T>, ParameterScope<T>, const HeadOutputWidths&>;

// A registered head output. The description is its formula.
struct HeadOutputInfo
    : TemplatePluginInfo<HeadOutputFactory, HeadOutputWidths> {
  int64_t joined_heads;

  template <typename Plugin>
  void Describe() {
    joined_heads = Plugin::kJoinedHeads;
  }
};

class HeadOutputRegistry
    : public PluginRegistry<HeadOutputConfig, HeadOutputInfo> {
 public:
  HeadOutputRegistry();
};

#define REGARD_HEAD_OUTPUT(name, formula) \
  REGARD_PLUGIN(HeadOutputRegistry, name, formula)

}  // namespace regard

#endif  // ATTENTION_HEAD_OUTPUT_H_
