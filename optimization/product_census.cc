#include "optimization/product_census.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/tape.h"
#include "autodiff/tape_observer.h"
#include "nn/forward.h"
#include "optimization/model_pass.h"

namespace regard {

namespace {

class Census : public TapeObserver<float> {
 public:
  void OnReset() override { Begin(); }
  void OnForwardDone(const char* name, const ScopeName* scope,
                     absl::Span<const Var<float>> /*outs*/) override {
    const int64_t flops = GemmFlops() - flops_;
    const int64_t rounded = RoundedGemmFlops() - rounded_;
    Begin();
    if (flops == 0) return;
    const std::string path = scope == nullptr ? "" : scope->ToString();
    auto found = std::find_if(found_.begin(), found_.end(), [&](const auto& x) {
      return x.scope == path && x.operation == name;
    });
    if (found == found_.end()) {
      found = found_.insert(found, {.scope = path, .operation = name});
    }
    found->flops += flops;
    found->rounded_flops += rounded;
  }
  void OnBackwardDone(const char* /*name*/,
                      const ScopeName* /*scope*/) override {}

  std::vector<OperationFlops> Take() { return std::move(found_); }
  bool empty() const { return found_.empty(); }

 private:
  void Begin() {
    flops_ = GemmFlops();
    rounded_ = RoundedGemmFlops();
  }

  // This thread's totals when the current operation began.
  int64_t flops_ = GemmFlops();
  int64_t rounded_ = RoundedGemmFlops();
  std::vector<OperationFlops> found_;
};

}  // namespace

std::vector<OperationFlops> CountOperationFlops(Model<float>& model,
                                                uint64_t seed) {
  Census census;
  Tape<float> tape;
  tape.set_observer(&census);
  Forward<float> forward(tape, model.parameters(), nullptr);
  RunModelOnce(model, seed, forward, [&] { return !census.empty(); });
  return census.Take();
}

}  // namespace regard
