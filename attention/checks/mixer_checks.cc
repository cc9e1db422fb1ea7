#include "attention/checks/mixer_checks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/checks/scoring_problem.h"
#include "attention/checks/tape_state.h"
#include "attention/layer_state.h"
#include "attention/mixer_layer.h"
#include "attention/mixers/mixer.pb.h"
#include "autodiff/gradient_failures.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "google/protobuf/descriptor.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"

namespace regard {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// tolerance for differences between the forms, in double
constexpr double kForms = 1e-10;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLong = 70;  // more positions than one chunk has

template <typename T>
TestArray ArrayOf(Var<T> x) {
  return {x.shape(), {x.span().begin(), x.span().end()}};
}

// A mixer with its own parameters and tape. A step of the tape has begun.
template <typename T>
class MixerUnderTest {
 public:
  explicit MixerUnderTest(const MixerToCheck& mixer)
      : layer_(mixer.registry, MixerConfigFor(mixer.options),
               {store_.Root(), mixer.width, SlotScope(slots_, "layer")}) {
    store_.Finalize(/*seed=*/1);
    gradients_ = std::make_unique<GradientSlab<T>>(store_);
    forward_ = std::make_unique<Forward<T>>(tape_, store_, gradients_.get());
    forward_->BeginStep();
  }

  const ParameterStore<T>& store() const { return store_; }
  const StateSlotNames& slots() const { return slots_; }
  const StateMixer<T>& mixer() const { return layer_.mixer(); }
  const MixerLayer<T>& layer() const { return layer_; }
  Forward<T>& forward() { return *forward_; }
  Tape<T>& tape() { return tape_; }

  Var<T> Input(const TestArray& x) {
    const std::vector<T> values(x.values.begin(), x.values.end());
    return tape_.Input(x.shape, values);
  }

  // Computes the contexts step by step. Each position is projected separately.
  Var<T> Stepwise(Var<T> x) {
    TapeLayerState<T> state(slots_);
    std::vector<Var<T>> contexts;
    for (int64_t t = 0; t < x.dim(1); ++t) {
      const MixerTerms<T> terms =
          mixer().Project(forward(), Slice(x, 1, t, 1), t, &state);
      contexts.push_back(mixer().Step(forward(), terms, &state));
    }
    return Concat<T>(contexts, 2);
  }

  // Returns the gradients of x and of all parameters. The gradient of y is a
  // fixed random array. Begins another step.
  std::vector<TestArray> Gradients(Var<T> x, Var<T> y) {
    const TestArray random = RandomArray(y.shape(), "projection");
    y.grad_ref().AddEach(
        [&](int64_t i) { return static_cast<T>(random.values[i]); });
    forward_->Backward({}, {});
    std::vector<TestArray> all = {
        {x.shape(), {x.grad_data(), x.grad_data() + x.size()}}};
    for (const ParameterInfo& info : store_.parameters()) {
      const auto part =
          store_.Segment(absl::Span<const T>(gradients_->values()),
                         *store_.FindByName(info.name));
      all.push_back({info.shape, {part.begin(), part.end()}});
    }
    forward_->BeginStep();
    return all;
  }

 private:
  ParameterStore<T> store_;
  StateSlotNames slots_;
  MixerLayer<T> layer_;
  Tape<T> tape_;
  std::unique_ptr<GradientSlab<T>> gradients_;
  std::unique_ptr<Forward<T>> forward_;
};

TestArray Inputs(const MixerToCheck& mixer, int64_t rows, int64_t time) {
  return RandomArray({rows, time, mixer.width}, "x");
}

void IsReachableByAConfig(const MixerToCheck& mixer, Expectations& expect) {
  const MixerConfig config = MixerConfigFor(mixer.options);
  const auto* const info = mixer.registry.Find(config);
  expect.True(info != nullptr && HasStateMixer(config),
              TypeName(mixer.options) +
                  " is neither a member of regard.MixerConfig.mixer nor an "
                  "extension of regard.OutsideMixer");
  if (info == nullptr) return;
  expect.True(!info->description.empty(), "it has no description");
}

// The case has two inputs: x, and the concatenation of all parameters.
void GradientsAgreeWithDifferences(const MixerToCheck& mixer,
                                   Expectations& expect) {
  MixerUnderTest<double> in_double(mixer);
  MixerUnderTest<float> in_float(mixer);
  const auto compute = [&]<typename T>(Tape<T>& tape,
                                       absl::Span<const Var<T>> in) {
    MixerUnderTest<T>* tested;
    if constexpr (std::is_same_v<T, float>) {
      tested = &in_float;
    } else {
      tested = &in_double;
    }
    std::vector<Var<T>> leaves;
    int64_t first = 0;
    for (const ParameterInfo& info : tested->store().parameters()) {
      leaves.push_back(Slice(in[1], 0, first, info.size()).Reshape(info.shape));
      first += info.size();
    }
    Forward<T> forward(tape, tested->store(), leaves);
    return tested->layer()(forward, in[0], {});
  };  // NOLINT(readability/braces)
  const int64_t parameters = in_double.store().num_elements();
  for (const std::string& failure : GradientFailures(
           {MakeCase(TypeName(mixer.options), "a chunk",
                     {{{2, 5, mixer.width}}, {{parameters}}}, compute)})) {
    expect.True(false, failure);
  }
}

// The step, chunk and matrix forms must give equal contexts and gradients.
void FormsAgree(const MixerToCheck& mixer, Expectations& expect) {
  for (const int64_t time : {int64_t{1}, int64_t{7}, kLong}) {
    MixerUnderTest<double> tested(mixer);
    const TestArray in = Inputs(mixer, 2, time);
    const auto run = [&](auto form) {
      const Var<double> x = tested.Input(in);
      const Var<double> y = form(x);
      const TestArray value = ArrayOf(y);
      std::vector<TestArray> all = tested.Gradients(x, y);
      all.push_back(value);
      return all;
    };
    const std::vector<TestArray> steps =
        run([&](Var<double> x) { return tested.Stepwise(x); });
    const auto compare = [&](const char* name,
                             const std::vector<TestArray>& got) {
      for (size_t i = 0; i < steps.size(); ++i) {
        const std::string what =
            i == 0 ? "gradient of x"
            : i + 1 == steps.size()
                ? "contexts"
                : "gradient of " + tested.store().parameters()[i - 1].name;
        expect.Near(got[i], steps[i], kForms,
                    absl::StrCat(name, ", ", time, " positions: ", what));
      }
    };
    compare("chunk", run([&](Var<double> x) {
              const auto terms =
                  tested.mixer().Project(tested.forward(), x, 0, nullptr);
              return tested.mixer().Chunk(tested.forward(), terms, nullptr);
            }));
    compare("matrix", run([&](Var<double> x) {
              const auto terms =
                  tested.mixer().Project(tested.forward(), x, 0, nullptr);
              return MatMul(tested.mixer().Matrix(tested.forward(), terms),
                            terms.values);
            }));
  }
}

void LaterPositionsHaveNoWeight(const MixerToCheck& mixer,
                                Expectations& expect) {
  MixerUnderTest<double> tested(mixer);
  const Var<double> x = tested.Input(Inputs(mixer, 2, 20));
  const Var<double> matrix = tested.mixer().Matrix(
      tested.forward(),
      tested.mixer().Project(tested.forward(), x, 0, nullptr));
  const Shape& shape = matrix.shape();
  expect.True(shape[2] == 20 && shape[3] == 20,
              absl::StrCat("Matrix() has shape ", shape.ToString()));
  bool holds = true;
  for (int64_t row = 0; row < matrix.rows(); ++row) {
    for (int64_t s = row % 20 + 1; s < 20; ++s) {
      holds &= matrix.at(row, s) == 0;
    }
  }
  expect.True(holds, "a later position has a weight");
}

// A chunk, two steps and another chunk must give the outputs of one chunk over
// all positions.
void StateCarriesAllThatCameBefore(const MixerToCheck& mixer,
                                   Expectations& expect) {
  MixerUnderTest<double> tested(mixer);
  const Var<double> x = tested.Input(Inputs(mixer, 2, kLong));
  const TestArray whole = ArrayOf(tested.layer()(tested.forward(), x, {}));
  TapeLayerState<double> state(tested.slots());
  std::vector<Var<double>> parts;
  int64_t begin = 0;
  for (const int64_t end : {int64_t{30}, int64_t{31}, int64_t{32}, kLong}) {
    parts.push_back(tested.layer()(tested.forward(),
                                   Slice(x, 1, begin, end - begin),
                                   {.first_position = begin, .state = &state}));
    begin = end;
  }
  expect.Near(ArrayOf(Concat<double>(parts, 1)), whole, kForms, "parts");
}

// Projecting a sequence in successive parts must give the same terms as
// projecting it at once.
void ProjectionsGoOnFromTheState(const MixerToCheck& mixer,
                                 Expectations& expect) {
  constexpr int64_t kTime = 9;
  MixerUnderTest<double> tested(mixer);
  const Var<double> x = tested.Input(Inputs(mixer, 2, kTime));
  const auto arrays = [](const MixerTerms<double>& terms) {
    std::vector<Var<double>> all = {terms.queries, terms.keys, terms.values};
    all.insert(all.end(), std::begin(terms.others), std::end(terms.others));
    return all;
  };
  const std::vector<Var<double>> whole =
      arrays(tested.mixer().Project(tested.forward(), x, 0, nullptr));
  TapeLayerState<double> state(tested.slots());
  std::vector<std::vector<Var<double>>> parts(whole.size());
  int64_t begin = 0;
  for (const int64_t end : {int64_t{1}, int64_t{3}, int64_t{4}, kTime}) {
    const std::vector<Var<double>> part = arrays(tested.mixer().Project(
        tested.forward(), Slice(x, 1, begin, end - begin), begin, &state));
    for (size_t i = 0; i < part.size(); ++i) parts[i].push_back(part[i]);
    begin = end;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!whole[i].has_value()) continue;
    expect.Near(ArrayOf(Concat<double>(parts[i], -2)), ArrayOf(whole[i]),
                kForms, absl::StrCat("term ", i));
  }
}

// The state must follow its row when a search reorders and repeats rows between
// steps.
void StateFollowsItsRow(const MixerToCheck& mixer, Expectations& expect) {
  MixerUnderTest<double> tested(mixer);
  tested.tape().set_recording(false);
  const int64_t rows[] = {2, 0, 0, 1};
  const TestArray before = Inputs(mixer, 3, 4);
  const TestArray after = RandomArray({4, 1, mixer.width}, "after");
  TapeLayerState<double> state(tested.slots());
  for (int64_t t = 0; t < 4; ++t) {
    tested.layer()(tested.forward(), Slice(tested.Input(before), 1, t, 1),
                   {.first_position = t, .state = &state});
  }
  state.Gather(rows);
  const TestArray got =
      ArrayOf(tested.layer()(tested.forward(), tested.Input(after),
                             {.first_position = 4, .state = &state}));
  const Var<double> joined = Concat<double>(
      {tested.Input(Take(before, 0, rows)), tested.Input(after)}, 1);
  const Var<double> whole = tested.layer()(tested.forward(), joined, {});
  expect.Near(got, ArrayOf(Slice(whole, 1, 4, 1)), kForms, "a step");
}

// Padding with NaN must have no effect, whether it is at the left, at the
// right, inside, everywhere or nowhere.
void PaddingChangesNothing(const MixerToCheck& mixer, Expectations& expect) {
  constexpr int64_t kTime = 8;
  const std::vector<std::pair<std::string, std::vector<int64_t>>> places = {
      {"right", {0, 1, 2, 3, 4}},
      {"left", {3, 4, 5, 6, 7}},
      {"inside", {0, 1, 4, 6, 7}},
      {"nowhere", {0, 1, 2, 3, 4, 5, 6, 7}},
      {"everywhere", {}}};
  for (const auto& [name, places_of_valid] : places) {
    MixerUnderTest<double> tested(mixer);
    const TestArray full = Inputs(mixer, 2, kTime);
    TestArray padded = full;
    std::vector<uint8_t> valid(2 * kTime, 0);
    for (const int64_t t : places_of_valid) valid[t] = valid[kTime + t] = 1;
    for (size_t i = 0; i < padded.values.size(); ++i) {
      if (valid[i / mixer.width] == 0) padded.values[i] = kNaN;
    }
    const Var<double> x = tested.Input(padded);
    const Var<double> y = tested.layer()(tested.forward(), x, {.valid = valid});
    const TestArray got = ArrayOf(y);
    const std::vector<TestArray> gradients = tested.Gradients(x, y);
    const TestArray random = RandomArray(got.shape, "projection");
    // The expected values are computed from the valid positions only. The
    // expected gradients use the elements of `random` at these positions.
    const Var<double> exact = tested.Input(Take(full, 1, places_of_valid));
    const Var<double> z = tested.layer()(tested.forward(), exact, {});
    expect.Near(Take(got, 1, places_of_valid), ArrayOf(z), 0, name);
    const TestArray valid_random = Take(random, 1, places_of_valid);
    const Var<double> sum =
        MatMul(z.Reshape({1, z.size()}),
               tested.tape()
                   .Constant(valid_random.shape, valid_random.values)
                   .Reshape({z.size(), 1}));
    tested.tape().Backward(sum);
    const double* const d = exact.grad_data();
    TestArray d_exact = {exact.shape(), std::vector<double>(exact.size(), 0)};
    if (d != nullptr) d_exact.values.assign(d, d + exact.size());
    expect.Near(Take(gradients[0], 1, places_of_valid), d_exact, 1e-13,
                name + ": gradient");
    std::vector<int64_t> hidden;
    for (int64_t t = 0; t < kTime; ++t) {
      if (valid[t] == 0) hidden.push_back(t);
    }
    expect.AllZero(Take(got, 1, hidden), name + ": outputs of padding");
    expect.AllZero(Take(gradients[0], 1, hidden),
                   name + ": gradient of padding");
    for (size_t i = 1; i < gradients.size(); ++i) {
      const auto& values = gradients[i].values;
      expect.True(std::all_of(values.begin(), values.end(),
                              [](double g) { return std::isfinite(g); }),
                  name + ": the gradient of a parameter is not finite");
    }
  }
}

// Other rows and later positions must not change any bit of an output.
void BitsDependOnlyOnEarlierPositionsOfTheSameRow(const MixerToCheck& mixer,
                                                  Expectations& expect) {
  MixerUnderTest<float> tested(mixer);
  const TestArray many = Inputs(mixer, 64, kLong);
  const auto compute = [&](const TestArray& x) {
    return ArrayOf(tested.layer()(tested.forward(), tested.Input(x), {}));
  };
  const TestArray all = compute(many);
  for (const int64_t row : {0, 5, 63}) {
    const int64_t rows[] = {row};
    expect.Near(compute(Take(many, 0, rows)), Take(all, 0, rows), 0,
                absl::StrCat("row ", row, " of 64"));
  }
  for (const int64_t time : {1, 3, 64, 65}) {
    const std::vector<int64_t> first = Range(0, time);
    expect.Near(compute(Take(many, 1, first)), Take(all, 1, first), 0,
                absl::StrCat("the first ", time, " positions"));
  }
}

// Reads the values of all hook points. Optionally replaces each value by
// itself.
class Hooks : public Hook<double> {
 public:
  explicit Hooks(bool replaces) : replaces_(replaces) {}

  HookRequest Request(const std::string&) override {
    return {.value = true, .replacement = replaces_};
  }
  void OnValue(const std::string& site, Var<double> value) override {
    seen_.emplace_back(site, ArrayOf(value));
  }
  Var<double> Replace(Tape<double>&, const std::string&,
                      Var<double> value) override {
    return value;
  }

  const TestArray* Find(const std::string& name) const {
    const auto found =
        std::find_if(seen_.begin(), seen_.end(),
                     [&](const auto& site) { return site.first == name; });
    return found == seen_.end() ? nullptr : &found->second;
  }
  void Clear() { seen_.clear(); }

 private:
  const bool replaces_;
  std::vector<std::pair<std::string, TestArray>> seen_;
};

void HooksSeeTheMatrix(const MixerToCheck& mixer, Expectations& expect) {
  for (const bool replaces : {false, true}) {
    MixerUnderTest<double> tested(mixer);
    const TestArray in = Inputs(mixer, 2, 9);
    const auto whole = [&] {
      return ArrayOf(tested.layer()(tested.forward(), tested.Input(in), {}));
    };
    const TestArray plain = whole();
    Hooks hooks(replaces);
    tested.forward().set_hook(&hooks);
    expect.Near(whole(), plain, replaces ? kForms : 0, "with hooks");
    const TestArray* const weights = hooks.Find("attention/weights");
    const TestArray* const values = hooks.Find("attention/values");
    const TestArray* const context = hooks.Find("attention/context");
    if (weights == nullptr || values == nullptr || context == nullptr) {
      expect.True(false, "a hook point was not visited");
      return;
    }
    const TestArray map = *weights;
    expect.Near(ArrayOf(MatMul(tested.Input(map), tested.Input(*values))),
                *context, kForms, "weights times values");
    // The weights of a step at the last position must be the last row of the
    // matrix.
    TapeLayerState<double> state(tested.slots());
    Var<double> last;
    for (int64_t t = 0; t < 9; ++t) {
      hooks.Clear();
      last = tested.layer()(tested.forward(), Slice(tested.Input(in), 1, t, 1),
                            {.first_position = t, .state = &state});
    }
    const int64_t at_end[] = {8};
    expect.Near(*hooks.Find("attention/weights"), Take(map, 2, at_end), kForms,
                "weights of a step");
    expect.Near(ArrayOf(last), Take(plain, 1, at_end), kForms, "a step");
  }
}

}  // namespace

MixerConfig MixerConfigFor(const Message& options) {
  MixerConfig config;
  const auto copy_into = [&](Message* parent, const FieldDescriptor* field) {
    if (field->message_type() != options.GetDescriptor()) return;
    parent->GetReflection()->MutableMessage(parent, field)->CopyFrom(options);
  };
  const auto* members = MixerConfig::descriptor()->FindOneofByName("mixer");
  for (int i = 0; i < members->field_count(); ++i) {
    copy_into(&config, members->field(i));
  }
  std::vector<const FieldDescriptor*> extensions;
  google::protobuf::DescriptorPool::generated_pool()->FindAllExtensions(
      OutsideMixer::descriptor(), &extensions);
  for (const FieldDescriptor* extension : extensions) {
    if (extension->message_type() == options.GetDescriptor()) {
      copy_into(config.mutable_outside(), extension);
    }
  }
  return config;
}

std::vector<MixerCheck> MixerChecks() {
  return {
      {"IsReachableByAConfig", IsReachableByAConfig},
      {"GradientsAgreeWithDifferences", GradientsAgreeWithDifferences},
      {"FormsAgree", FormsAgree},
      {"LaterPositionsHaveNoWeight", LaterPositionsHaveNoWeight},
      {"StateCarriesAllThatCameBefore", StateCarriesAllThatCameBefore},
      {"ProjectionsGoOnFromTheState", ProjectionsGoOnFromTheState},
      {"StateFollowsItsRow", StateFollowsItsRow},
      {"PaddingChangesNothing", PaddingChangesNothing},
      {"BitsDependOnlyOnEarlierPositionsOfTheSameRow",
       BitsDependOnlyOnEarlierPositionsOfTheSameRow},
      {"HooksSeeTheMatrix", HooksSeeTheMatrix},
  };
}

}  // namespace regard
