#include "nn/parameters.h"

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(ParametersTest, NamesAreDottedInOrderOfRegistration) {
  ParameterStore<float> store;
  ParameterScope<float> encoder = store.Root().Sub("encoder");
  encoder.Sub("gru", 0).Add("weight_ih", {6, 3}, Zeros());
  encoder.Sub("norm").Sub(1).Add("scale", {3}, Constant(1));
  store.Root().Add("temperature", {}, Constant(2));
  ASSERT_EQ(store.parameters().size(), 3u);
  EXPECT_EQ(store.parameters()[0].name, "encoder.gru.0.weight_ih");
  EXPECT_EQ(store.parameters()[1].name, "encoder.norm.1.scale");
  EXPECT_EQ(store.parameters()[2].name, "temperature");
  EXPECT_EQ(store.num_elements(), 18 + 3 + 1);
}

TEST(ParametersTest, SegmentsAreAlignedAndTheGapsZero) {
  ParameterStore<float> store;
  const Parameter<float> a = store.Root().Add("a", {3}, Constant(1));
  const Parameter<float> b = store.Root().Add("b", {17}, Constant(2));
  store.Finalize(0);
  EXPECT_EQ(store.slab_size(), 16 + 32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(store.value(a).data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(store.value(b).data()) % 64, 0u);
  EXPECT_THAT(store.value(a), ElementsAre(1, 1, 1));
  EXPECT_THAT(store.value(b), Each(2));
  EXPECT_THAT(store.values().subspan(3, 13), Each(0));
  EXPECT_THAT(store.values().subspan(16 + 17), Each(0));
}

TEST(ParametersTest, ParametersTooLargeForMemoryAreOnlyCounted) {
  ParameterStore<float> store;
  store.Root().Add("w", {1 << 20, 1 << 24}, Constant(1));
  EXPECT_EQ(store.problem(), "");
  store.Finalize(0);
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(
      store.problem(),
      absl::StrFormat("17592186044416 parameters take 65536.0 GiB, but this "
                      "machine has %.1f GiB of memory; use a smaller model",
                      memory / (1 << 30)));
  EXPECT_EQ(store.num_elements(), int64_t{1} << 44);
  EXPECT_EQ(store.slab_size(), 0);

  ParameterStore<float> small;
  small.Root().Add("w", {3}, Constant(1));
  small.Finalize(0);
  EXPECT_EQ(small.problem(), "");
}

TEST(ParametersTest, SizesThatOverflowAreMoreThanMemoryHolds) {
  for (const int count : {1, 2, 3, 4, 5, 63, 64, 65}) {
    ParameterStore<float> store;
    for (int i = 0; i < count; ++i) {
      store.Root().Add(absl::StrCat("w", i), {1 << 29, 1 << 29}, Constant(1));
    }
    store.Finalize(0);
    EXPECT_NE(store.problem(), "") << count;
    EXPECT_GT(store.num_elements(), int64_t{1} << 55) << count;
    EXPECT_EQ(store.num_trainable_elements(), store.num_elements()) << count;
    EXPECT_EQ(store.slab_size(), 0) << count;
  }
}

TEST(ParametersTest, InitialValuesDependOnlyOnSeedAndName) {
  std::vector<float> alone;
  {
    ParameterStore<float> store;
    const Parameter<float> w = store.Root().Add("w", {5}, Uniform(1));
    store.Finalize(7);
    alone.assign(store.value(w).begin(), store.value(w).end());
  }
  ParameterStore<float> store;
  const Parameter<float> before = store.Root().Add("v", {5}, Uniform(1));
  const Parameter<float> w = store.Root().Add("w", {5}, Uniform(1));
  store.Finalize(7);
  EXPECT_THAT(store.value(w), testing::ElementsAreArray(alone));
  EXPECT_NE(store.value(before)[0], store.value(w)[0]);

  ParameterStore<float> other_seed;
  const Parameter<float> v = other_seed.Root().Add("w", {5}, Uniform(1));
  other_seed.Finalize(8);
  EXPECT_NE(other_seed.value(v)[0], alone[0]);
}

TEST(ParametersTest, ValuesThatAreReadLaterBeginAsZeros) {
  ParameterStore<float> store;
  const Parameter<float> w = store.Root().Add("w", {5}, Constant(1));
  store.FinalizeWithZeros();
  EXPECT_TRUE(store.finalized());
  EXPECT_THAT(store.value(w), Each(0));
}

TEST(ParametersTest, TiedWeightsAreOneParameterOfTwoNames) {
  ParameterStore<float> store;
  const Parameter<float> table =
      store.Root().Sub("embedding").Add("weight", {4, 2}, Normal(1));
  store.Root().Sub("output").Alias("weight", table);
  store.Finalize(1);
  EXPECT_EQ(store.num_elements(), 8);
  EXPECT_EQ(store.FindByName("output.weight"), table);
  EXPECT_EQ(store.FindByName("embedding.weight"), table);
  EXPECT_EQ(store.FindByName("weight"), std::nullopt);
}

TEST(ParametersTest, CountsTrainableElementsSeparately) {
  ParameterStore<double> store;
  store.Root().Add("a", {3}, Zeros());
  store.Root().Add("frozen", {2, 2}, Zeros(), {.trainable = false});
  EXPECT_EQ(store.num_elements(), 7);
  EXPECT_EQ(store.num_trainable_elements(), 3);
}

TEST(ParametersTest, StoresAndParametersMayBeEmpty) {
  ParameterStore<double> empty;
  empty.Finalize(0);
  EXPECT_EQ(empty.slab_size(), 0);
  ParameterStore<double> store;
  store.Root().Add("nothing", {0, 3}, Zeros());
  store.Finalize(0);
  EXPECT_EQ(store.num_elements(), 0);
}

TEST(ParametersTest, AnUntouchedSegmentIsClearedOnce) {
  ParameterStore<float> store;
  store.Root().Add("a", {2}, Zeros());
  store.Root().Add("b", {2}, Zeros());
  store.Finalize(0);
  GradientSlab<float> gradients(store);
  EXPECT_FALSE(gradients.touched(0));
  for (float& value : gradients.values()) value = 5;
  gradients.SetTouchedOrClear(store.parameters()[0], 0, true);
  gradients.SetTouchedOrClear(store.parameters()[1], 1, true);
  gradients.SetTouchedOrClear(store.parameters()[1], 1, false);
  EXPECT_TRUE(gradients.touched(0));
  EXPECT_FALSE(gradients.touched(1));
  EXPECT_THAT(gradients.values().subspan(0, 2), Each(5));
  EXPECT_THAT(gradients.values().subspan(16, 2), Each(0));
}

TEST(ParametersDeathTest, ANameIsTakenOnce) {
  ParameterStore<float> store;
  store.Root().Sub("a").Add("w", {1}, Zeros());
  EXPECT_DEATH(store.Root().Add("a.w", {1}, Zeros()),
               "a.w is already registered");
}

TEST(ParametersDeathTest, AHandleBelongsToItsStore) {
  ParameterStore<float> store;
  ParameterStore<float> other;
  const Parameter<float> own = store.Root().Add("w", {1}, Constant(1));
  const Parameter<float> foreign = other.Root().Add("v", {1}, Constant(2));
  EXPECT_FALSE(own == foreign);
  EXPECT_TRUE(own == *store.FindByName("w"));
  const char* const expected = "belongs to another store";
  EXPECT_DEATH(store.Root().Alias("a", foreign), expected);
  store.Root().Alias("a", own);
  EXPECT_TRUE(own == *store.FindByName("a"));
  store.Finalize(0);
  other.Finalize(0);
  EXPECT_DEATH(store.info(foreign), expected);
  EXPECT_DEATH(store.value(foreign), expected);
  EXPECT_DEATH(store.info({}), "the Parameter is empty");
}

TEST(ParametersDeathTest, NothingIsRegisteredAfterFinalize) {
  ParameterStore<float> store;
  store.Finalize(0);
  EXPECT_DEATH(store.Root().Add("w", {1}, Zeros()), "after Finalize");
}

}  // namespace
}  // namespace regard
