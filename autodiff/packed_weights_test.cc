#include "autodiff/packed_weights.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/testing/allocation_counter.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

// A weight [40, 24] and its packed copies.
struct Owner {
  Owner() : values(40 * 24) {
    packed.Add();
    Set(0);
  }

  void Set(float first) {
    packed.Invalidate();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = first + static_cast<float>(i);
    }
  }

  PackedPart<float>* Part(const PartPlace& place,
                          PackedForm form = PackedForm::kTranspose) {
    return packed[0].FindOrAdd(place, form);
  }
  ConstMatrix<float> Transposed(const PartPlace& place) const {
    return ConstMatrix<float>(values.data() + place.offset, place.rows,
                              place.cols, place.stride)
        .Transposed();
  }
  const float* PackIfOutdated(const PartPlace& place) {
    return Part(place)->PackIfOutdated(Transposed(place)).panels;
  }
  const float* Current(const PartPlace& place) {
    return Part(place)->WithCurrent(Transposed(place)).panels;
  }

  std::vector<float> values;
  PackedWeights<float> packed;
};

constexpr PartPlace kWhole = {0, 40, 24, 24};
constexpr PartPlace kColumns = {3, 40, 7, 24};

bool IsCopy(const Owner& owner, const PartPlace& place, const float* panels) {
  ConstMatrix<float> part = owner.Transposed(place);
  part.panels = panels;
  return PanelsMatch(part);
}

TEST(PackedWeightsTest, EachPartHasACopyOfItself) {
  Owner owner;
  owner.packed.Add();
  const float* const whole = owner.PackIfOutdated(kWhole);
  const float* const columns = owner.PackIfOutdated(kColumns);
  EXPECT_TRUE(IsCopy(owner, kWhole, whole));
  EXPECT_TRUE(IsCopy(owner, kColumns, columns));
  EXPECT_EQ(owner.Current(kWhole), whole);
  EXPECT_EQ(owner.Current(kColumns), columns);
  const PackedPart<float>* const of_other =
      owner.packed[1].FindOrAdd(kWhole, PackedForm::kTranspose);
  EXPECT_EQ(of_other->WithCurrent(owner.Transposed(kWhole)).panels, nullptr);
}

TEST(PackedWeightsTest, APartHasARoundedCopyOfItselfAndOfItsTranspose) {
  Owner owner;
  const float* const panels = owner.PackIfOutdated(kColumns);
  const ConstMatrix<float> transposed = owner.Transposed(kColumns);
  PackedPart<float>* const rounded = owner.Part(kColumns, PackedForm::kRounded);
  PackedPart<float>* const rounded_transpose =
      owner.Part(kColumns, PackedForm::kRoundedTranspose);
  const ConstMatrix<float> whole =
      rounded->PackIfOutdated(transposed.Transposed());
  const ConstMatrix<float> turned =
      rounded_transpose->PackIfOutdated(transposed);
  EXPECT_EQ(whole.panels, nullptr);
  EXPECT_EQ(turned.panels, nullptr);
  EXPECT_TRUE(PairsMatch(whole));
  EXPECT_TRUE(PairsMatch(turned));
  EXPECT_EQ(owner.Current(kColumns), panels);
  EXPECT_EQ(rounded->WithCurrent(transposed.Transposed()).pairs, whole.pairs);
  // A change of the weight must make all copies invalid. Later copies must
  // reuse the memory.
  owner.Set(100);
  EXPECT_EQ(rounded->WithCurrent(transposed.Transposed()).pairs, nullptr);
  EXPECT_EQ(rounded_transpose->WithCurrent(transposed).pairs, nullptr);
  const int64_t before = AllocationCount();
  const ConstMatrix<float> again =
      rounded_transpose->PackIfOutdated(transposed);
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_EQ(again.pairs, turned.pairs);
  EXPECT_TRUE(PairsMatch(again));
}

TEST(PackedWeightsTest, ACopyIsMadeOnceUntilTheWeightsChange) {
  Owner owner;
  EXPECT_EQ(owner.Current(kWhole), nullptr);
  EXPECT_EQ(owner.packed.bytes(), 0);
  const float* const panels = owner.PackIfOutdated(kWhole);
  const int64_t bytes = owner.packed.bytes();
  EXPECT_GE(bytes, PackedSize<float>(24, 40) * int64_t{sizeof(float)});
  // A second copy would contain the new value. PackIfOutdated() must return the
  // first copy instead.
  owner.values[5] = -1;
  EXPECT_EQ(owner.PackIfOutdated(kWhole), panels);
  EXPECT_FALSE(IsCopy(owner, kWhole, panels));
  owner.Set(100);
  EXPECT_EQ(owner.Current(kWhole), nullptr);
  // The next copy must reuse the memory of the last copy.
  const int64_t before = AllocationCount();
  EXPECT_EQ(owner.PackIfOutdated(kWhole), panels);
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_EQ(owner.packed.bytes(), bytes);
  EXPECT_EQ(owner.Current(kWhole), panels);
  EXPECT_TRUE(IsCopy(owner, kWhole, panels));
}

TEST(PackedWeightsTest, ProductsAreCountedUntilTheWeightsChange) {
  Owner owner;
  EXPECT_EQ(owner.Part(kWhole)->CountUnpackedProducts(1), 1);
  EXPECT_EQ(owner.Part(kWhole)->CountUnpackedProducts(5), 6);
  EXPECT_EQ(owner.Part(kColumns)->CountUnpackedProducts(1), 1);
  owner.Set(100);
  EXPECT_EQ(owner.Part(kWhole)->CountUnpackedProducts(2), 2);
}

TEST(PackedWeightsTest, ThreadsShareOneCopy) {
  Owner owner;
  int64_t bytes = 0;
  for (int step = 0; step < 50; ++step) {
    owner.Set(static_cast<float>(step));
    const float* found[2] = {};
    std::vector<std::thread> threads;
    for (const float*& panels : found) {
      threads.emplace_back([&owner, &panels] {
        owner.PackIfOutdated(kColumns);
        panels = owner.PackIfOutdated(kWhole);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(found[0], found[1]);
    EXPECT_TRUE(IsCopy(owner, kWhole, found[0]));
    if (step == 0) bytes = owner.packed.bytes();
    EXPECT_EQ(owner.packed.bytes(), bytes);
  }
  // Copies on several threads must take as much memory as copies on one thread.
  Owner alone;
  alone.PackIfOutdated(kColumns);
  alone.PackIfOutdated(kWhole);
  EXPECT_EQ(bytes, alone.packed.bytes());
}

}  // namespace
}  // namespace regard
