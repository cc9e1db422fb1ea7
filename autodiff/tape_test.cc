#include "autodiff/tape.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

Var<double> Square(Var<double> x) {
  Tape<double>& tape = x.tape();
  Var<double> y = tape.New(x.shape(), x.needs_grad());
  for (int64_t i = 0; i < x.size(); ++i) {
    y.data()[i] = x.data()[i] * x.data()[i];
  }
  tape.Record("Square", y, [=] {
    if (auto d = x.grad_ref()) {
      d.AddEach([=](int64_t i) { return 2 * x.data()[i] * y.grad_data()[i]; });
    }
  });
  return y;
}

Var<double> Total(Var<double> x) {
  Var<double> y = x.tape().New({}, x.needs_grad());
  *y.data() = std::accumulate(x.span().begin(), x.span().end(), 0.0);
  x.tape().Record("Total", y, [=] {
    if (auto d = x.grad_ref()) {
      d.AddEach([=](int64_t) { return *y.grad_data(); });
    }
  });
  return y;
}

std::vector<double> Grad(Var<double> x) {
  return {x.grad_data(), x.grad_data() + x.size()};
}

// Rewinding the tape between the calls, as Recompute() does, must not change
// the tables.
TEST(TapeTest, TablesAreComputedOnceUntilReset) {
  Tape<float> tape;
  constexpr char kMaker = 0;
  constexpr char kOther = 0;
  int computed = 0;
  const auto table = [&](const TableKey& key) {
    return tape.Table(key, 3,
                      [&](float* x) { std::fill_n(x, 3, 1.0f * ++computed); });
  };
  const TableKey key = {&kMaker, 0.5, {1, 2, 3, 4}};
  const Tape<float>::Mark mark = tape.Save();
  const float* const first = table(key);
  tape.Rewind(mark);
  tape.Full({100}, -1);
  EXPECT_EQ(table(key), first);
  table({&kOther, 0.5, {1, 2, 3, 4}});
  table({&kMaker, 0.25, {1, 2, 3, 4}});
  table({&kMaker, 0.5, {1, 2, 3, 5}});
  EXPECT_EQ(computed, 4);
  EXPECT_EQ(table(key), first);
  // Tables that are no longer found must keep their numbers.
  for (int64_t i = 0; i < 20; ++i) table({&kMaker, 2, {i}});
  EXPECT_EQ(first[2], 1);
  EXPECT_EQ(table(key)[0], 25);
  tape.Reset();
  table(key);
  EXPECT_EQ(computed, 26);
}

TEST(TapeTest, DifferentiatesAComposition) {
  Tape<double> tape;
  Var<double> x = tape.Input({3}, {1, -2, 3});
  Var<double> y = Total(Square(Square(x)));  // sum of x^4
  EXPECT_EQ(y.item(), 1 + 16 + 81);
  tape.Backward(y);
  EXPECT_THAT(Grad(x), ElementsAre(4, -32, 108));
}

TEST(TapeTest, AddsUpTheGradientsOfSeveralUses) {
  Tape<double> tape;
  Var<double> x = tape.Input({2}, {1, 2});
  Var<double> a = Square(x);
  Var<double> b = Square(x);
  Var<double> y = tape.New({}, true);
  *y.data() = 0;
  tape.Record("Both", y, [=] {
    if (auto d = a.grad_ref()) d.AddEach([](int64_t) { return 1.0; });
    if (auto d = b.grad_ref()) d.AddEach([](int64_t) { return 10.0; });
  });
  tape.Backward(y);
  EXPECT_THAT(Grad(x), ElementsAre(22, 44));
}

TEST(TapeTest, AReshapeSharesValueAndGradient) {
  Tape<double> tape;
  Var<double> x = tape.Input({2, 2}, {1, 2, 3, 4});
  tape.Backward(Total(Square(x.Reshape({4}))));
  EXPECT_THAT(Grad(x), ElementsAre(2, 4, 6, 8));
}

TEST(TapeTest, AReshapeKeepsItsShapeWhenTheCallersGoes) {
  Tape<double> tape;
  Var<double> x = tape.Input({2, 3}, {1, 2, 3, 4, 5, 6});
  Var<double> y;
  EXPECT_EQ(y.shape(), Shape());
  {
    const Shape shape = {3, 2};
    y = x.Reshape(shape);
  }
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_EQ(tape.NewLike(y, false).shape(), Shape({3, 2}));
  EXPECT_EQ(x.shape(), Shape({2, 3}));
}

TEST(TapeTest, AClosureMayTakeTheNodeOfItsOutput) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {3});
  Var<double> y = tape.NewLike(x, true);
  *y.data() = 3 * *x.data();
  tape.Record("Triple", y, [x = x.node()](Node<double>* y) {
    if (GradRef<double> d(x); d) {
      d.AddEach([=](int64_t i) { return 3 * y->grad[i]; });
    }
  });
  tape.Backward(y, 5);
  EXPECT_THAT(Grad(x), ElementsAre(15));
}

TEST(TapeTest, SkipsOperationsThatDoNotReachTheResult) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {3});
  Var<double> unused = Square(x);
  tape.Backward(Total(x));
  EXPECT_EQ(unused.grad_data(), nullptr);
  EXPECT_THAT(Grad(x), ElementsAre(1));
}

TEST(TapeTest, RecordsNothingForConstantsOrWhileOff) {
  Tape<double> tape;
  Square(tape.Constant({1}, {3}));
  EXPECT_EQ(tape.records(), 0u);
  tape.set_recording(false);
  EXPECT_FALSE(Square(tape.Input({1}, {3})).needs_grad());
  EXPECT_EQ(tape.records(), 0u);
}

TEST(TapeTest, AnUntouchedOutputOfSeveralReadsAsAbsent) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {3});
  Var<double> first = tape.New({1}, true);
  Var<double> second = tape.New({1}, true);
  *first.data() = *second.data() = 0;
  tape.RecordOutputs("Two", {first, second}, [=] {
    EXPECT_EQ(first.grad_data(), nullptr);
    const double d_second = *second.grad_data();
    if (auto d = x.grad_ref()) d.AddEach([=](int64_t) { return d_second; });
  });
  tape.Backward(second, 5);
  EXPECT_THAT(Grad(x), ElementsAre(5));
}

TEST(TapeTest, ALeafWritesIntoTheCallersStorage) {
  std::vector<double> value = {2};
  std::vector<double> grad = {NAN};
  Tape<double> tape;
  for (int step = 0; step < 2; ++step) {
    tape.Reset();
    tape.Backward(Square(tape.Leaf(value.data(), grad.data(), {1})));
    EXPECT_EQ(grad[0], 4);
  }
}

TEST(TapeTest, AViewReadsTheCallersStorageAndIsRewound) {
  std::vector<double> values = {2, 3};
  Tape<double> tape;
  Var<double> x = tape.Input({2}, {1, 1});
  const Tape<double>::Mark mark = tape.Save();
  const size_t of_leaves = tape.leaf_arena().used();
  const size_t of_values = tape.arena().used();
  for (int i = 0; i < 100; ++i) {
    Var<double> view = tape.View(values.data(), {2, 1});
    EXPECT_EQ(view.data(), values.data());
    EXPECT_EQ(view.shape(), Shape({2, 1}));
    EXPECT_FALSE(view.needs_grad());
    tape.Rewind(mark);
    EXPECT_EQ(tape.arena().used(), of_values);
  }
  EXPECT_EQ(tape.leaf_arena().used(), of_leaves);
  EXPECT_EQ(x.data()[0], 1);
}

// The value of a view is not in the arena, so the pass releases nothing.
TEST(TapeTest, AViewMayBeTheOutputOfAPassThatReleases) {
  std::vector<double> values = {2};
  Tape<double> tape;
  Square(tape.Input({1 << 18}, std::vector<double>(1 << 18, 3)));
  Var<double> view = tape.View(values.data(), {});
  tape.BackwardToAndRelease({}, view);
  EXPECT_EQ(view.item(), 2);
}

TEST(TapeTest, BackwardOfAConstantLeavesTheRecords) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {3});
  Var<double> y = Square(x);
  tape.Backward(tape.Full({}, 1));
  EXPECT_EQ(x.grad_data(), nullptr);
  tape.Backward(y);
  EXPECT_THAT(Grad(x), ElementsAre(6));
}

TEST(TapeDeathTest, LeavesDoNotShareGradients) {
  double values[4] = {1, 2, 3, 4};
  double grads[4];
  Tape<double> tape;
  const char* const expected = "would overwrite the gradient of an earlier one";
  tape.Leaf(values, grads + 2, {2});
  tape.Leaf(values, grads, {2});
  EXPECT_DEATH(tape.Leaf(values, grads, {2}), expected);
  EXPECT_DEATH(tape.Leaf(values, grads + 2, {2}), expected);
  EXPECT_DEATH(tape.Leaf(values, grads + 1, {1}), expected);
  // Leaves without a gradient or elements cannot overlap.
  tape.Leaf(values, nullptr, {2});
  tape.Leaf(values, grads + 1, {0});
  tape.Reset();
  const Tape<double>::Mark mark = tape.Save();
  for (int i = 0; i < 2; ++i) {
    Var<double> x = tape.Leaf(values, grads, {4});
    EXPECT_DEATH(tape.Leaf(values, grads + 3, {1}), expected);
    tape.Backward(Total(x));
    tape.Rewind(mark);
  }
}

TEST(TapeTest, PartialContributionsStartFromZero) {
  Tape<double> tape;
  Var<double> x = tape.Input({3}, {1, 2, 3});
  Var<double> y = tape.New({}, true);
  *y.data() = x.data()[1];
  tape.Record("Pick", y, [=] {
    if (auto d = x.grad_ref()) d.BeginAdding()[1] += *y.grad_data();
  });
  tape.Backward(y);
  EXPECT_THAT(Grad(x), ElementsAre(0, 1, 0));
}

TEST(TapeTest, ScopesNameAndTellApart) {
  Tape<double> tape;
  NameScope<double> decoder(tape, "decoder");
  uint64_t first;
  {
    NameScope<double> step(tape, "step", 0);
    first = tape.scope()->hash;
    EXPECT_EQ(tape.scope()->ToString(), "decoder/step[0]");
  }
  NameScope<double> step(tape, "step", 1);
  EXPECT_NE(tape.scope()->hash, first);
}

TEST(TapeTest, DeferredWorkRunsOnceAfterAllRecords) {
  Tape<double> tape;
  std::vector<int> order;
  std::vector<int>* const ran = &order;
  Var<double> y = tape.New({}, true);
  *y.data() = 0;
  tape.Record("Second", y, [=] { ran->push_back(2); });
  tape.Record("First", y, [=, &tape] {
    ran->push_back(1);
    tape.Defer("Work", [=] { ran->push_back(3); });
  });
  tape.Backward(y);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(TapeTest, EachPartOfATapeMayBeDifferentiatedOnce) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {3});
  Var<double> y = Square(x);
  tape.AllocateUninitializedGrad(y.node());
  const Tape<double>::Mark mark = tape.Save();
  // Rewound operations may be recorded and differentiated again.
  for (int i = 0; i < 2; ++i) {
    Var<double> z = Square(y);
    if (auto d = z.grad_ref()) d.AddEach([](int64_t) { return 1.0; });
    tape.BackwardTo(mark);
    tape.Rewind(mark);
  }
  tape.BackwardTo({});
  EXPECT_THAT(Grad(x), ElementsAre(2 * 4 * 27));
  tape.Reset();
  x = tape.Input({1}, {3});
  tape.Backward(Square(x));
  EXPECT_THAT(Grad(x), ElementsAre(6));
}

// A chain of steps z = y * first + x. Every step reads `first` and x.
class ReleaseTest : public testing::Test {
 protected:
  // An array of this size does not fill a whole number of cache lines.
  static constexpr int64_t kSize = 8193;
  static constexpr int kDepth = 40;
  static constexpr size_t kValues = kDepth * kSize * sizeof(double);

  ReleaseTest() : numbers_(kSize) {
    std::iota(numbers_.begin(), numbers_.end(), 1);
    for (double& number : numbers_) number /= kSize;
  }

  static Var<double> Compute(Tape<double>& tape, Var<double> x) {
    Var<double> first = Square(x);
    Var<double> y = first;
    for (int i = 2; i < kDepth; ++i) {
      Var<double> z = tape.New(y.shape(), true);
      for (int64_t j = 0; j < kSize; ++j) {
        z.data()[j] = y.data()[j] * first.data()[j] + x.data()[j];
      }
      tape.Record("Step", z, [=] {
        const double* const g = z.grad_data();
        if (auto d = y.grad_ref()) {
          d.AddEach([=](int64_t j) { return g[j] * first.data()[j]; });
        }
        if (auto d = first.grad_ref()) {
          d.AddEach([=](int64_t j) { return g[j] * y.data()[j]; });
        }
        if (auto d = x.grad_ref()) d.AddEach([=](int64_t j) { return g[j]; });
      });
      y = z;
    }
    return Total(y);
  }

  // Returns the gradient of x. Sets `bytes` to the peak memory of the step.
  std::vector<double> Gradient(bool release, size_t* bytes,
                               TapeObserver<double>* observer = nullptr) {
    Tape<double> tape;
    std::vector<double> gradient;
    // The first step allocates several blocks. Reset() replaces them with one.
    for (int step = 0; step < 2; ++step) {
      tape.Reset();
      tape.set_observer(observer);
      Var<double> x = tape.Input({kSize}, numbers_);
      const Tape<double>::Mark mark = tape.Save();
      Var<double> y = Compute(tape, x);
      const double value = y.item();
      if (release) {
        if (auto d = y.grad_ref()) d.AddEach([](int64_t) { return 1.0; });
        tape.BackwardToAndRelease(mark, y);
        EXPECT_EQ(y.item(), value);
        EXPECT_EQ(tape.records(), 0u);
      } else {
        tape.Backward(y);
      }
      if (step == 1) {
        EXPECT_EQ(Grad(x), gradient);
      }
      gradient = Grad(x);
    }
    *bytes = tape.high_water_bytes();
    return gradient;
  }

 private:
  std::vector<double> numbers_;
};

TEST_F(ReleaseTest, GradientsTakeThePlaceOfValues) {
  size_t kept;
  size_t released;
  EXPECT_EQ(Gradient(true, &released), Gradient(false, &kept));
  EXPECT_GT(kept, 2 * kValues);
  EXPECT_LT(released, kValues + kValues / 4);
}

TEST_F(ReleaseTest, ObservedValuesAreKept) {
  class Watcher : public TapeObserver<double> {
   public:
    void OnReset() override {}
    void OnForwardDone(const char*, const ScopeName*,
                       absl::Span<const Var<double>> outs) override {
      last_ = outs[0];
      value_ = last_.data()[0];
    }
    void OnBackwardDone(const char* name, const ScopeName*) override {
      if (name != std::string("Square")) return;
      EXPECT_EQ(last_.data()[0], value_);
    }

   private:
    Var<double> last_;
    double value_ = 0;
  } watcher;
  size_t kept;
  size_t watched;
  EXPECT_EQ(Gradient(true, &watched, &watcher), Gradient(false, &kept));
  EXPECT_EQ(watched, kept);
}

TEST_F(ReleaseTest, AReplayReleasesItsValues) {
  Tape<double> tape;
  Var<double> x = tape.Input({kSize}, std::vector<double>(kSize, 0.5));
  Var<double> y = tape.New({kSize}, true);
  std::fill_n(y.data(), kSize, 0);
  Tape<double>* const owner = &tape;
  tape.Record("Replay", y, [=] {
    for (int i = 0; i < 3; ++i) {
      const Tape<double>::Mark mark = owner->Save();
      Var<double> again = Compute(*owner, x);
      if (auto d = again.grad_ref()) d.AddEach([](int64_t) { return 1.0; });
      owner->BackwardToAndRelease(mark, again);
      owner->Rewind(mark);
    }
  });
  Var<double> wanted = tape.Input({kSize}, std::vector<double>(kSize, 0.5));
  Var<double> sum = Total(y);
  if (auto d = sum.grad_ref()) d.AddEach([](int64_t) { return 1.0; });
  tape.BackwardToAndRelease({}, sum);
  EXPECT_LT(tape.high_water_bytes(), kValues + kValues / 2);
  tape.Backward(Compute(tape, wanted));
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_DOUBLE_EQ(x.grad_data()[i], 3 * wanted.grad_data()[i]);
  }
}

TEST(TapeDeathTest, ASecondBackwardIsRefused) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {3});
  Var<double> y = Square(x);
  Var<double> z = Square(x);
  tape.Backward(y);
  EXPECT_DEATH(tape.Backward(y), "was differentiated before");
  EXPECT_DEATH(tape.Backward(z), "was differentiated before");
  EXPECT_DEATH(tape.Backward(Square(y)), "was differentiated before");
}

TEST(TapeDeathTest, BackwardRequiresAScalar) {
  Tape<double> tape;
  Var<double> x = tape.Input({2}, {3, 4});
  EXPECT_DEATH(tape.Backward(x),
               "losses are scalars: Backward\\(\\) from \\[2\\]");
}

TEST(TapeDeathTest, NothingIsReleasedWithinAScope) {
  Tape<double> tape;
  Var<double> y = Square(tape.Input({1}, {3}));
  const NameScope<double> scope(tape, "layer");
  EXPECT_DEATH(tape.BackwardToAndRelease({}, y), "while a scope is open");
}

#ifndef NDEBUG
TEST(TapeDeathTest, UseAfterResetIsCaught) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {1});
  Var<double> large = tape.Input({100000}, std::vector<double>(100000));
  tape.Reset();  // replaces the blocks of memory
  EXPECT_DEATH(x.data(), "used after its tape was reset");
  EXPECT_DEATH(x.shape(), "used after its tape was reset");
  EXPECT_DEATH(large.data(), "used after its tape was reset");
  tape.Input({1}, {1});
  EXPECT_DEATH(x.data(), "used after its tape was reset");
}

TEST(TapeDeathTest, UseAfterReleaseIsCaught) {
  Tape<double> tape;
  Var<double> x = tape.Input({1}, {3});
  Var<double> y = Square(x);
  Var<double> z = Square(y);
  if (auto d = z.grad_ref()) d.AddEach([](int64_t) { return 1.0; });
  tape.BackwardToAndRelease({}, z);
  EXPECT_THAT(Grad(x), ElementsAre(4 * 27));
  EXPECT_EQ(z.item(), 81);
  EXPECT_DEATH(y.data(), "rewound past it");
}

TEST(TapeDeathTest, UseAfterRewindIsCaught) {
  Tape<double> tape;
  Var<double> before = tape.Input({1}, {1});
  const Tape<double>::Mark mark = tape.Save();
  Var<double> x = tape.Input({1}, {1});
  Var<double> view = x.Reshape({});
  tape.Rewind(mark);
  EXPECT_EQ(before.item(), 1);
  EXPECT_DEATH(x.data(), "rewound past it");
  // `y` reuses the node of `x`, so every later use of `x` must fail.
  Var<double> y = tape.Input({1}, {2});
  EXPECT_EQ(y.item(), 2);
  EXPECT_DEATH(x.item(), "rewound past it");
  EXPECT_DEATH(view.item(), "rewound past it");
}
#endif

}  // namespace
}  // namespace regard
