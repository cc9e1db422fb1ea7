#include "attention/checks/score_map_checks.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/checks/config_choice.h"
#include "attention/checks/scoring_problem.h"
#include "attention/mask.h"
#include "attention/score_maps/score_map.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/gradient_failures.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

namespace {

constexpr double kRounding = 1e-12;
constexpr ScoreWidths kWidths = {.heads = 2, .query = 4, .key = 4};

// A map with its own parameters and tape.
template <typename T>
class MapUnderTest {
 public:
  explicit MapUnderTest(const ScoreMapToCheck& checked)
      : map_(checked.registry.template Create<T>(
            ConfigWithChoice<ScoreMapConfig>(checked.options), store_.Root(),
            kWidths)) {
    store_.Finalize(1);
    forward_ = std::make_unique<Forward<T>>(tape_, store_, nullptr);
  }

  ParameterStore<T>& store() { return store_; }
  const ScoreMap<T>& map() const { return *map_; }

  // Maps x, whose queries and keys begin at `positions`.
  TestArray Map(const TestArray& x, const Positions& positions = {},
                const Mask& mask = {}) {
    forward_->BeginStep();
    const Var<T> in =
        tape_.Input(x.shape, std::vector<T>(x.values.begin(), x.values.end()));
    ScoreInputs<T> inputs;
    inputs.positions = positions;
    inputs.mask = mask;
    const Var<T> y = map_->Map(*forward_, in, inputs);
    return {y.shape(), {y.span().begin(), y.span().end()}};
  }

 private:
  ParameterStore<T> store_;
  std::unique_ptr<ScoreMap<T>> map_;
  Tape<T> tape_;
  std::unique_ptr<Forward<T>> forward_;
};

TestArray Scores() { return RandomArray({3, 2, 4, 5}, "scores"); }

void IsReachableByAConfig(const ScoreMapToCheck& checked,
                          Expectations& expect) {
  const auto config = ConfigWithChoice<ScoreMapConfig>(checked.options);
  expect.True(checked.registry.Find(config) == &checked.info,
              checked.info.name +
                  " is neither a member of regard.ScoreMapConfig.map nor an "
                  "extension of regard.OutsideScoreMap");
  expect.True(!checked.info.description.empty(), "it has no description");
}

void GradientsAgreeWithDifferences(const ScoreMapToCheck& checked,
                                   Expectations& expect) {
  MapUnderTest<double> in_double(checked);
  MapUnderTest<float> in_float(checked);
  std::vector<TestInputSpec> inputs = {{{2, 2, 3, 5}, -2, 2}};
  for (const ParameterInfo& parameter : in_double.store().parameters()) {
    inputs.push_back({parameter.shape});
  }
  const auto map = [&]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
    MapUnderTest<T>* tested;
    if constexpr (std::is_same_v<T, float>) {
      tested = &in_float;
    } else {
      tested = &in_double;
    }
    Forward<T> forward(tape, tested->store(), in.subspan(1));
    const Var<T> y = tested->map().Map(forward, in[0], {});
    // Replaces -inf by 0, because finite differences need finite elements.
    constexpr T kFar = std::numeric_limits<T>::max() / 2;
    return Where(y + kFar, y, tape.Full({1}, T(0)));
  };  // NOLINT(readability/braces)
  for (const std::string& failure :
       GradientFailures({MakeCase(checked.info.name, "map", inputs, map)})) {
    expect.True(false, failure);
  }
}

// The result for a part of the examples and queries must equal this part of the
// whole result. The part also has fewer keys, unless the map mixes keys.
void MapsOfAPartAreThatPart(const ScoreMapToCheck& checked,
                            Expectations& expect) {
  MapUnderTest<double> tested(checked);
  const TestArray all = Scores();
  const std::vector<int64_t> examples = {1};
  const std::vector<int64_t> queries = Range(1, 3);
  const std::vector<int64_t> keys =
      checked.info.mixes_keys ? Range(0, 5) : Range(2, 5);
  const auto part = [&](const TestArray& x) {
    return Take(Take(Take(x, 0, examples), 2, queries), 3, keys);
  };
  expect.Near(tested.Map(part(all), {.first_query = 1, .first_key = keys[0]}),
              part(tested.Map(all)), kRounding, "a part");
}

void MixesHeadsOnlyIfItSaysSo(const ScoreMapToCheck& checked,
                              Expectations& expect) {
  if (checked.info.mixes_heads) return expect.Skip("it mixes heads");
  MapUnderTest<double> tested(checked);
  TestArray changed = Scores();
  const int64_t first[] = {0};
  const TestArray expected = Take(tested.Map(changed), 1, first);
  for (size_t i = 0; i < changed.values.size(); ++i) {
    if (i / 20 % 2 == 1) changed.values[i] += 1;
  }
  expect.Near(Take(tested.Map(changed), 1, first), expected, 0,
              "scores of head 1 change head 0, but kMixesHeads is false");
}

void KeepsWhatIsHidden(const ScoreMapToCheck& checked, Expectations& expect) {
  MapUnderTest<float> tested(checked);
  for (const double hidden : {-std::numeric_limits<double>::infinity(), 0.0}) {
    if (hidden == 0 && checked.info.only_scores) continue;
    TestArray x = Scores();
    // Hides keys 1 and 4 of each query, in all heads.
    const auto is_hidden = [](size_t i) { return i % 5 == 1 || i % 5 == 4; };
    for (size_t i = 0; i < x.values.size(); ++i) {
      if (is_hidden(i)) x.values[i] = hidden;
    }
    const TestArray y = tested.Map(x);
    for (size_t i = 0; i < x.values.size(); ++i) {
      if (!is_hidden(i) || y.values[i] == hidden) continue;
      const char* const rule =
          hidden == 0 ? "a weight of 0 must stay 0, even if its key is visible"
                      : "the score -inf of a masked key must stay -inf";
      return expect.True(false, absl::StrCat("maps ", hidden, " to ",
                                             y.values[i], ", but ", rule));
    }
  }
}

// Elements of masked keys must not affect other elements. Three examples have
// 5, 3 and no keys, and query i sees keys up to i + 1.
void MaskedKeysChangeNothing(const ScoreMapToCheck& checked,
                             Expectations& expect) {
  MapUnderTest<double> tested(checked);
  const std::vector<int32_t> lengths = {5, 3, 0};
  const Mask mask = {.key_lengths = lengths, .causal = true};
  const Positions positions = {.first_query = 1};
  const TestArray x = Scores();
  const MaskReader reader(mask, positions, 3, 4, 5);
  // Replaces the elements of masked keys by a number.
  const auto hide = [&](TestArray array, double number) {
    for (size_t i = 0; i < array.values.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      const VisibleKeys seen = reader(place / 40, place / 5 % 4);
      if (!seen(place % 5)) array.values[i] = number;
    }
    return array;
  };
  const TestArray expected = hide(tested.Map(x, positions, mask), 0);
  for (const double number :
       {1000.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect.Near(hide(tested.Map(hide(x, number), positions, mask), 0), expected,
                0, absl::StrCat("hidden numbers of ", number));
  }
}

void IsPlainAttentionWhereItSaysSo(const ScoreMapToCheck& checked,
                                   Expectations& expect) {
  if (!checked.is_plain) return expect.Skip("it is not with these options");
  expect.Near(MapUnderTest<double>(checked).Map(Scores()), Scores(), kRounding,
              "scores");
}

}  // namespace

std::vector<ScoreMapCheck> ScoreMapChecks() {
  return {
      {"IsReachableByAConfig", &IsReachableByAConfig},
      {"GradientsAgreeWithDifferences", &GradientsAgreeWithDifferences},
      {"MapsOfAPartAreThatPart", &MapsOfAPartAreThatPart},
      {"MixesHeadsOnlyIfItSaysSo", &MixesHeadsOnlyIfItSaysSo},
      {"KeepsWhatIsHidden", &KeepsWhatIsHidden},
      {"MaskedKeysChangeNothing", &MaskedKeysChangeNothing},
      {"IsPlainAttentionWhereItSaysSo", &IsPlainAttentionWhereItSaysSo},
  };
}

}  // namespace regard
