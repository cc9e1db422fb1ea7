// Tests the linear, embedding and norm layers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/initializers.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

TEST(LinearLayerTest, CountsItsParameters) {
  ParameterStore<float> store;
  const LinearLayer<float> biased(store.Root().Sub("a"), 7, 5);
  EXPECT_EQ(store.num_elements(), 5 * 7 + 5);
  const LinearLayer<float> unbiased(store.Root().Sub("b"), 7, 5,
                                    {.bias = false});
  EXPECT_EQ(store.num_elements(), 5 * 7 + 5 + 5 * 7);
  EXPECT_FALSE(unbiased.bias().has_value());
  EXPECT_EQ(store.info(biased.weight()).shape, Shape({5, 7}));
}

TEST(LinearLayerTest, XavierWidensItsInitialValues) {
  ParameterStore<double> store;
  const LinearLayer<double> layer(store.Root(), 100, 2,
                                  {.initialization = XavierUniform});
  store.Finalize(0);
  double largest = 0;
  for (const double w : store.value(layer.weight())) {
    largest = std::max(largest, std::abs(w));
  }
  EXPECT_LE(largest, std::sqrt(6.0 / 102));
  EXPECT_GT(largest, 0.1);  // above PyTorch's default, 1 / sqrt(100)
}

TEST(EmbeddingTest, CountsItsParameters) {
  ParameterStore<float> store;
  const EmbeddingLayer<float> layer(store.Root(), 9, 4);
  EXPECT_EQ(store.num_elements(), 9 * 4);
  EXPECT_EQ(store.info(layer.weight()).options.role, ParameterRole::kEmbedding);
}

TEST(LinearLayerTest, StartsFromANormalDistributionAndZeroBiases) {
  ParameterStore<double> store;
  const LinearLayer<double> normal(
      store.Root().Sub("normal"), 100, 50,
      {.initialization = [](int64_t, int64_t) { return Normal(0.5); },
       .zero_bias = true});
  const LinearLayer<double> cut(store.Root().Sub("cut"), 100, 50,
                                {.initialization = [](int64_t, int64_t) {
                                  return TruncatedNormal(0.02);
                                }});
  store.Finalize(0);
  double sum = 0;
  for (const double w : store.value(normal.weight())) sum += w * w;
  EXPECT_NEAR(std::sqrt(sum / 5000), 0.5, 0.02);
  EXPECT_THAT(store.value(normal.bias()), Each(0));
  for (const double w : store.value(cut.weight())) {
    EXPECT_LE(std::abs(w), 0.04);
  }
}

TEST(EmbeddingTest, SharesTheWeightOfAnother) {
  ParameterStore<float> store;
  const EmbeddingLayer<float> first(store.Root().Sub("first"), 9, 4);
  const EmbeddingLayer<float> second(store.Root().Sub("second"),
                                     first.weight());
  EXPECT_EQ(store.num_elements(), 9 * 4);
  EXPECT_EQ(*store.FindByName("second.weight"), first.weight());
}

TEST(NormLayerTest, CountTheirParametersAndMarkThem) {
  ParameterStore<float> store;
  const NormLayer<float> layer(store.Root().Sub("a"), 6);
  EXPECT_EQ(store.num_elements(), 6 + 6);
  const NormLayer<float> unbiased(store.Root().Sub("b"), 6, {.bias = false});
  const NormLayer<float> rms(store.Root().Sub("c"), 6, {.rms = true});
  EXPECT_EQ(store.num_elements(), 6 + 6 + 6 + 6);
  for (const ParameterInfo& info : store.parameters()) {
    EXPECT_EQ(info.options.role, ParameterRole::kNormalization) << info.name;
  }
}

class HeldScale : public Hook<double> {
 public:
  // Replaces the scale with `replacement`. If `replacement` is NaN, the hook
  // only reads the scale, and also its gradient if `gradient` is true.
  explicit HeldScale(double replacement, bool gradient = false)
      : replacement_(replacement), gradient_(gradient) {}

  HookRequest Request(const std::string& site) override {
    sites.insert(site);
    return {.value = true,
            .gradient = gradient_,
            .replacement = !std::isnan(replacement_)};
  }
  void OnValue(const std::string&, Var<double> value) override {
    read.assign(value.span().begin(), value.span().end());
    shape = value.shape();
  }
  Var<double> Replace(Tape<double>& tape, const std::string&,
                      Var<double> value) override {
    return tape.Full(value.shape(), replacement_);
  }

  std::set<std::string> sites;
  std::vector<double> read;
  Shape shape;

 private:
  const double replacement_;
  const bool gradient_;
};

// The rows of x are (1, 3) and (-2, 2). Their means are 2 and 0, their
// variances 1 and 4, and their mean squares 5 and 4.
TEST(NormLayerTest, ItsScaleIsAHookPoint) {
  for (const bool rms : {false, true}) {
    ParameterStore<double> store;
    const NormLayer<double> norm(store.Root().Sub("x").Sub("ln_1"), 2,
                                 {.rms = rms, .epsilon = 0});
    store.Finalize(0);
    store.values()[0] = 2;
    store.values()[1] = 3;
    GradientSlab<double> gradients(store);
    Tape<double> tape;
    Forward<double> forward(tape, store, &gradients);
    // Returns y, then the gradients of y0 + 2 y1 + 3 y2 + 4 y3 with respect to
    // x and to the parameters.
    const auto run = [&](Hook<double>* hook) {
      forward.set_hook(hook);
      forward.BeginStep();
      const Var<double> x =
          tape.Input({1, 2, 2}, std::vector<double>{1, 3, -2, 2});
      const Var<double> y = norm(forward, x);
      const Var<double> weighted =
          y * tape.Constant({1, 2, 2}, std::vector<double>{1, 2, 3, 4});
      std::vector<double> all(y.span().begin(), y.span().end());
      forward.Backward({Sum(weighted)}, {1.0});
      all.insert(all.end(), x.grad_data(), x.grad_data() + 4);
      all.insert(all.end(), gradients.values().begin(),
                 gradients.values().end());
      return all;
    };
    const std::vector<double> plain = run(nullptr);
    HeldScale reader(std::nan(""));
    EXPECT_EQ(run(&reader), plain);
    EXPECT_THAT(reader.sites, ElementsAre("ln_1_norm_scale"));
    EXPECT_EQ(reader.shape, Shape({1, 2, 1}));
    EXPECT_THAT(reader.read,
                ElementsAre(DoubleEq(rms ? 1 / std::sqrt(5.0) : 1), .5));
    // If a hook reads gradients, the norm is composed of plain operations,
    // which must give the same results.
    HeldScale composed(std::nan(""), /*gradient=*/true);
    EXPECT_THAT(run(&composed), Pointwise(DoubleNear(1e-14), plain));
    // A replaced scale has no gradient, so the norm must be linear.
    HeldScale held(10);
    const std::vector<double> y = run(&held);
    const std::vector<double> values(y.begin(), y.begin() + 8);
    if (rms) {
      EXPECT_THAT(values, ElementsAre(20, 90, -40, 60, 20, 60, 60, 120));
    } else {
      EXPECT_THAT(values, ElementsAre(-20, 30, -40, 60, -20, 20, -30, 30));
    }
  }
}

TEST(NormLayerTest, ItsHookPointHasTheNameOfItsParameters) {
  const auto name = [](auto scope_of) {
    ParameterStore<double> store;
    const NormLayer<double> norm(scope_of(store.Root()), 2);
    store.Finalize(0);
    Tape<double> tape;
    Forward<double> forward(tape, store, nullptr);
    HeldScale reader(std::nan(""));
    forward.set_hook(&reader);
    forward.BeginStep();
    norm(forward, tape.Full({1, 2}, 1));
    return *reader.sites.begin();
  };
  EXPECT_EQ(name([](auto root) { return root; }), "norm_scale");
  EXPECT_EQ(name([](auto root) { return root.Sub("norm"); }), "norm_scale");
  EXPECT_EQ(name([](auto root) { return root.Sub("a").Sub("key_norm"); }),
            "key_norm_scale");
}

// A model that predicts one word from another word, with an embedding, a norm
// and a linear layer.
class WordModel {
 public:
  WordModel()
      : embedding_(store_.Root().Sub("embedding"), 6, 8),
        norm_(store_.Root().Sub("norm"), 8),
        output_(store_.Root().Sub("output"), 8, 6) {
    store_.Finalize(1);
    gradients_.emplace(store_);
    forward_.emplace(tape_, store_, &*gradients_);
  }

  // Returns the loss of one pass and computes its gradients. A target of -1 is
  // padding.
  double Loss(absl::Span<const int32_t> words,
              absl::Span<const int32_t> targets) {
    forward_->BeginStep();
    const int64_t count = static_cast<int64_t>(words.size());
    const Var<double> embedded = embedding_(*forward_, words, {count});
    const Var<double> loss =
        CrossEntropy(output_(*forward_, norm_(*forward_, embedded)), targets);
    forward_->Backward({loss}, {1.0});
    return loss.item();
  }

  ParameterStore<double>& store() { return store_; }
  GradientSlab<double>& gradients() { return *gradients_; }
  Parameter<double> table() const { return embedding_.weight(); }

 private:
  ParameterStore<double> store_;
  EmbeddingLayer<double> embedding_;
  NormLayer<double> norm_;
  LinearLayer<double> output_;
  Tape<double> tape_;
  std::optional<GradientSlab<double>> gradients_;
  std::optional<Forward<double>> forward_;
};

TEST(LayersTest, OverfitATinyBatch) {
  WordModel model;
  double loss = 0;
  for (int step = 0; step < 200; ++step) {
    loss = model.Loss({0, 1, 2, 3}, {5, 3, 3, 0});
    for (int64_t i = 0; i < model.store().slab_size(); ++i) {
      model.store().values()[i] -= 0.5 * model.gradients().values()[i];
    }
  }
  EXPECT_LT(loss, 0.01);
}

TEST(LayersTest, PaddingGetsExactlyZeroGradient) {
  WordModel model;
  model.Loss({2, 4, 4}, {1, -1, -1});
  const absl::Span<const double> d_table =
      model.store().Segment(model.gradients().values(), model.table());
  EXPECT_THAT(d_table.subspan(4 * 8, 8), Each(0));
  EXPECT_THAT(d_table.subspan(2 * 8, 8), testing::Contains(testing::Ne(0)));
}

}  // namespace
}  // namespace regard
