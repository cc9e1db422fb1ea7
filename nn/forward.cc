#include "nn/forward.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Forward<T>::Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
                    GradientSlab<T>* gradients)
    : tape_(tape), parameters_(parameters), gradients_(gradients) {
  REGARD_CHECK(parameters.finalized()) << "Forward requires a finalized store";
}

template <typename T>
Forward<T>::Forward(Tape<T>& tape, const ParameterStore<T>& parameters,
                    absl::Span<const Var<T>> leaves)
    : Forward(tape, parameters, nullptr) {
  REGARD_CHECK_EQ(leaves.size(), parameters.parameters().size());
  leaves_.assign(leaves.begin(), leaves.end());
}

template <typename T>
struct Forward<T>::Companion {
  explicit Companion(const ParameterStore<T>& parameters)
      : passes(tape, parameters, /*gradients=*/nullptr) {}

  Tape<T> tape;
  Forward<T> passes;
};

template <typename T>
Forward<T>::~Forward() = default;

template <typename T>
void Forward<T>::MakeCompanions(int64_t count) {
  while (std::ssize(companions_) < count) {
    companions_.push_back(std::make_unique<Companion>(parameters_));
  }
  for (int64_t i = 0; i < count; ++i) {
    Tape<T>& tape = companion(i).tape();
    tape.set_training(tape_.training());
    tape.set_random(tape_.random());
  }
}

template <typename T>
Forward<T>& Forward<T>::companion(int64_t index) {
  REGARD_CHECK(index >= 0 && index < std::ssize(companions_))
      << "companion " << index << " of " << companions_.size()
      << ": call MakeCompanions() first";
  return companions_[static_cast<size_t>(index)]->passes;
}

template <typename T>
void Forward<T>::BeginStep() {
  tape_.Reset();
  tape_.set_precision_rule(parameters_.precision());
  went_back_ = false;
  leaves_.clear();
  // A Var has mutable storage, but operations do not write to their inputs.
  T* const values = const_cast<T*>(parameters_.values().data());
  const absl::Span<const ParameterInfo> infos = parameters_.parameters();
  for (size_t i = 0; i < infos.size(); ++i) {
    const ParameterInfo& info = infos[i];
    T* const value = values + info.offset;
    const bool trained = gradients_ != nullptr && info.options.trainable;
    T* const gradient =
        trained ? gradients_->values().data() + info.offset : nullptr;
    leaves_.push_back(tape_.Leaf(value, gradient, info.shape,
                                 info.options.sparse_gradient,
                                 &parameters_.packed(i)));
  }
}

template <typename T>
Var<T> Forward<T>::operator[](Parameter<T> parameter) const {
  parameters_.CheckOwns(parameter);
  REGARD_CHECK(parameter.index < static_cast<int>(leaves_.size()))
      << "parameter " << parameter.index << " of " << leaves_.size()
      << " leaves: call BeginStep() first";
  return leaves_[parameter.index];
}

template <typename T>
const std::string& Forward<T>::SiteName(const char* name) const {
  site_name_.clear();
  if (const ScopeName* const scope = tape_.scope(); scope != nullptr) {
    scope->AppendTo(&site_name_);
    site_name_.push_back('/');
  }
  return site_name_.append(name);
}

template <typename T>
HookRequest Forward<T>::RequestFor(const char* name) const {
  return hook_->Request(SiteName(name));
}

template <typename T>
Var<T> Forward<T>::PassThroughHook(
    const char* name, Var<T> value, Var<T> input,
    const std::optional<WeightBlockPosition>& place) const {
  const std::string& site = SiteName(name);
  const HookRequest request = hook_->Request(site);
  if (request.replacement) {
    REGARD_CHECK(!request.input || input.has_value())
        << site << " has no input";
    const Var<T> replaced =
        hook_->Replace(tape_, site, request.input ? input : value);
    REGARD_CHECK(replaced.shape() == value.shape())
        << site << " " << value.shape() << " replaced by " << replaced.shape();
    value = replaced;
  }
  if (request.gradient) {
    if (!value.needs_grad()) value = tape_.Input(value.shape(), value.span());
    // The closure below is never destroyed, so it must not own memory.
    char* const copy =
        tape_.arena().template New<char>(static_cast<int64_t>(site.size()));
    std::copy(site.begin(), site.end(), copy);
    const absl::string_view kept(copy, site.size());
    Hook<T>* const hook = hook_;
    tape_.Record("Probe", value,
                 [=] { hook->OnGradient(std::string(kept), value); });
  }
  if (tape_.in_backward()) return value;
  if (request.value) hook_->OnValue(site, value);
  if (place.has_value() && request.rows.any()) {
    const Shape& shape = value.shape();
    const AttentionStatistics rows = AttentionStatistics::New(
        tape_.arena(), request.rows,
        shape.rank() == 4 ? shape : Shape({1, 1, value.rows()}));
    WriteRowStatistics(value, *place, rows);
    hook_->OnRowStatistics(site, rows);
  }
  return value;
}

template <typename T>
void Forward<T>::Backward(absl::Span<const Var<T>> scalars,
                          absl::Span<const double> seeds) {
  REGARD_CHECK(gradients_ != nullptr) << "Backward() requires gradients";
  REGARD_CHECK_EQ(scalars.size(), seeds.size());
  REGARD_CHECK(!std::exchange(went_back_, true))
      << "Backward() was called twice in a step: add the scalars and call it "
         "once";
  gradients_->ClearTouchedRows(parameters_);
  Var<T> oldest;
  for (size_t i = 0; i < scalars.size(); ++i) {
    CheckOperand("Backward()", tape_, scalars[i]);
    REGARD_CHECK_EQ(scalars[i].size(), 1)
        << "losses are scalars: Backward() from " << scalars[i].shape();
    const T seed = static_cast<T>(seeds[i]);
    if (auto d = scalars[i].grad_ref()) {
      d.AddEach([=](int64_t) { return seed; });
    }
    if (!oldest.has_value() ||
        scalars[i].node()->index < oldest.node()->index) {
      oldest = scalars[i];
    }
  }
  // Without scalars, the caller may have assigned gradients to any value, so no
  // value can be released.
  if (oldest.has_value()) {
    tape_.BackwardToAndRelease({}, oldest);
  } else {
    tape_.BackwardTo({});
  }
  const absl::Span<const ParameterInfo> infos = parameters_.parameters();
  for (size_t i = 0; i < infos.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    gradients_->SetTouchedOrClear(infos[i], index,
                                  leaves_[i].grad_data() != nullptr);
    const absl::Span<const uint8_t> rows = tape_.touched_rows(leaves_[i]);
    std::copy(rows.begin(), rows.end(), gradients_->touched_rows(index));
  }
}

REGARD_INSTANTIATE_CLASS(Forward);

}  // namespace regard
