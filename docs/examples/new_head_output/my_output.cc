// Multiplies the context of each head h by a learned factor: f_h * context_h.
#include "attention/head_output.h"
#include "autodiff/ops/elementwise.h"
#include "my_output.pb.h"

namespace lab {

using ::regard::Constant;
using ::regard::Forward;
using ::regard::HeadOutput;
using ::regard::HeadOutputWidths;
using ::regard::Parameter;
using ::regard::ParameterScope;
using ::regard::Var;

template <typename T>
class MyOutput : public HeadOutput<T> {
 public:
  using Options = MyOutputOptions;

  MyOutput(const Options& options, ParameterScope<T> scope,
           const HeadOutputWidths& widths)
      : width_(widths.heads * widths.value) {
    factors_ =
        scope.Add("factors", {widths.heads, 1}, Constant(options.initial()));
  }

  int64_t Width() const override { return width_; }

  Var<T> Output(Forward<T>& forward, Var<T> context,
                Var<T> /*x*/) const override {
    const Var<T> scaled = context * forward[factors_];
    return scaled.Reshape({context.dim(0), context.dim(1), width_});
  }

 private:
  int64_t width_;
  Parameter<T> factors_;
};

REGARD_HEAD_OUTPUT(MyOutput, "f c")

}  // namespace lab
