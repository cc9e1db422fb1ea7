// Places the contexts of the heads side by side, like attention without a head
// output.
#include <cstdint>

#include "attention/head_output.h"
#include "attention/head_outputs/head_output.pb.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
class PlainOutput : public HeadOutput<T> {
 public:
  using Options = NoHeadOutput;

  PlainOutput(const Options&, ParameterScope<T>, const HeadOutputWidths& widths)
      : width_(widths.heads * widths.value) {}

  int64_t Width() const override { return width_; }

  Var<T> Output(Forward<T>&, Var<T> context, Var<T> /*x*/) const override {
    return context.Reshape({context.dim(0), context.dim(1), width_});
  }

 private:
  int64_t width_;
};

REGARD_HEAD_OUTPUT(PlainOutput, "c")

}  // namespace regard
