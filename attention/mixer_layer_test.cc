#include "attention/mixer_layer.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attention/layer_state.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "autodiff/testing/rounding_tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kRows[] = {2, kNoRow, 0, 3, kNoRow, kNoRow};

TEST(TakeRowsTest, Gradients) {
  CheckGradients({MakeCase(
      "TakeRows", "rows that move, and rows that are left out", {{{2, 3, 4}}},
      [](auto&, auto in) { return TakeRows(in[0], kRows); })});
}

TEST(TakeRowsTest, OmittedRowsReachNothing) {
  Tape<float> tape;
  const float nan = std::nanf("");
  const Var<float> x = tape.Input({2, 3, 1}, {10, nan, 30, 40, nan, nan});
  const Var<float> y = TakeRows(x, kRows);
  EXPECT_THAT(y.span(), ElementsAre(30, 0, 10, 40, 0, 0));
  tape.Backward(Sum(y));
  EXPECT_THAT(std::vector<float>(x.grad_data(), x.grad_data() + 6),
              ElementsAre(1, 0, 1, 1, 0, 0));
  EXPECT_THAT(TakeRows<float>(tape.Constant({0, 3, 2}), {}).span(), IsEmpty());
}

TEST(TakeRowsDeathTest, RefusesAnotherNumberOfRows) {
  Tape<float> tape;
  EXPECT_DEATH(TakeRows(tape.Full({2, 2, 1}, 0), kRows),
               "rows to take of \\[2, 2, 1\\]");
}

// A mixer whose contexts are half of the values.
template <typename T>
class Halves : public StateMixer<T> {
 public:
  using Options = RetentionMixer;

  Halves(const Options&, const MixerSetup<T>&) {}

  MixerTerms<T> Project(Forward<T>&, Var<T> x, int64_t,
                        LayerState<T>*) const override {
    MixerTerms<T> terms;
    terms.values = x.Reshape({x.dim(0), 1, x.dim(1), x.dim(2)});
    return terms;
  }
  Var<T> Step(Forward<T>&, const MixerTerms<T>& terms,
              LayerState<T>*) const override {
    return terms.values * T(0.5);
  }
  Var<T> Chunk(Forward<T>&, const MixerTerms<T>& terms,
               LayerState<T>*) const override {
    return terms.values * T(0.5);
  }
  Var<T> Matrix(Forward<T>& forward,
                const MixerTerms<T>& terms) const override {
    const int64_t time = terms.values.dim(2);
    const Var<T> matrix = forward.tape().Full({1, 1, time, time}, T(0));
    for (int64_t t = 0; t < time; ++t) matrix.at(t, t) = T(0.5);
    return matrix;
  }
  Var<T> Output(Forward<T>&, const MixerTerms<T>&,
                Var<T> contexts) const override {
    return contexts.Reshape(
        {contexts.dim(0), contexts.dim(2), contexts.dim(3)});
  }
};

TEST(MixerLayerTest, AMixerMayHaveNeitherQueriesNorKeys) {
  MixerRegistry mixers;
  mixers.Add<Halves>("v / 2");
  MixerConfig config;
  config.mutable_retention();
  ParameterStore<float> store;
  StateSlotNames slots;
  const MixerLayer<float> layer(mixers, config,
                                {store.Root(), 2, SlotScope(slots, "layer")});
  store.Finalize(0);
  Tape<float> tape;
  Forward<float> pass(tape, store, nullptr);
  SiteValueRecorder<float> recorder({"*"});
  pass.set_hook(&recorder);
  EXPECT_THAT(layer(pass, tape.Constant({1, 2, 2}, {2, 4, 6, 8}), {}).span(),
              ElementsAre(1, 2, 3, 4));
  std::vector<std::string> sites;
  for (const auto& seen : recorder.seen()) sites.push_back(seen.site);
  EXPECT_THAT(sites,
              UnorderedElementsAre("attention/values", "attention/weights",
                                   "attention/context"));
  EXPECT_THAT(recorder.Find("attention/weights")->value,
              ElementsAre(.5f, 0, 0, .5f));
}

// A mixer that checks the precision of products in each of its methods, and
// counts calls.
template <typename T>
class Precisions : public Halves<T> {
 public:
  using Halves<T>::Halves;

  MixerTerms<T> Project(Forward<T>& forward, Var<T> x, int64_t first,
                        LayerState<T>* state) const override {
    EXPECT_EQ(forward.tape().precision(), ProductPrecision::kBfloat16);
    return Halves<T>::Project(forward, x, first, state);
  }
  Var<T> Step(Forward<T>& forward, const MixerTerms<T>& terms,
              LayerState<T>* state) const override {
    EXPECT_EQ(forward.tape().precision(), ProductPrecision::kFull);
    ++contexts;
    return Halves<T>::Step(forward, terms, state);
  }
  Var<T> Chunk(Forward<T>& forward, const MixerTerms<T>& terms,
               LayerState<T>* state) const override {
    EXPECT_EQ(forward.tape().precision(), ProductPrecision::kFull);
    ++contexts;
    return Halves<T>::Chunk(forward, terms, state);
  }
  Var<T> Matrix(Forward<T>& forward,
                const MixerTerms<T>& terms) const override {
    EXPECT_EQ(forward.tape().precision(), ProductPrecision::kFull);
    ++matrices;
    return Halves<T>::Matrix(forward, terms);
  }
  Var<T> Output(Forward<T>& forward, const MixerTerms<T>& terms,
                Var<T> contexts) const override {
    EXPECT_EQ(forward.tape().precision(), ProductPrecision::kBfloat16);
    return Halves<T>::Output(forward, terms, contexts);
  }

  mutable int contexts = 0;
  mutable int matrices = 0;
};

TEST(MixerLayerTest, OnlyProjectionsAreRounded) {
  MixerRegistry mixers;
  mixers.Add<Precisions>("v / 2");
  MixerConfig config;
  config.mutable_retention();
  ParameterStore<float> store;
  StateSlotNames slots;
  const MixerLayer<float> layer(mixers, config,
                                {store.Root(), 2, SlotScope(slots, "layer")});
  store.set_precision(std::make_shared<RoundOutsideFullRule>());
  store.Finalize(0);
  Tape<float> tape;
  Forward<float> pass(tape, store, nullptr);
  pass.BeginStep();
  const Var<float> x = tape.Full({1, 2, 2}, 1);
  layer(pass, x, {});
  SiteValueRecorder<float> recorder({"attention/weights"});
  pass.set_hook(&recorder);
  layer(pass, x, {});
  const auto& mixer = dynamic_cast<const Precisions<float>&>(layer.mixer());
  EXPECT_GT(mixer.contexts, 0);
  EXPECT_GT(mixer.matrices, 0);
  EXPECT_EQ(tape.precision(), ProductPrecision::kBfloat16);
}

}  // namespace
}  // namespace regard
