// Products with a weight laid out beforehand against plain ones.
#include "autodiff/kernels/packed_weight.h"

#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

template <typename T>
using Matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename T>
class PackedWeightTest : public ::testing::Test {
 protected:
  // A weight, the same laid out, and rows to multiply.
  struct Problem {
    Problem(int64_t rows, int64_t out, int64_t in)
        : weight(Matrix<T>::Random(out, in)),
          x(Matrix<T>::Random(rows, in)),
          bias(Matrix<T>::Random(1, out)),
          storage(1, PackedWeight<T>::StorageSize(out, in)),
          packed(weight.data(), out, in, storage.data()) {}

    Matrix<T> Product(int64_t first, int64_t rows) const {
      Matrix<T> y = Matrix<T>::Constant(rows, weight.rows(), T(77));
      packed.Multiply(x.data() + first * x.cols(), rows, bias.data(), y.data());
      return y;
    }

    Matrix<T> weight, x, bias, storage;
    PackedWeight<T> packed;
  };
};

using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PackedWeightTest, Scalars);

TYPED_TEST(PackedWeightTest, HasTheBitsOfAPlainProductWithABias) {
  using T = TypeParam;
  for (const int64_t out : {1, 7, 16, 47, 48, 49, 100, 200}) {
    for (const int64_t in : {0, 1, 5, 16, 33, 256, 300, 600}) {
      for (const int64_t rows : {1, 3, 9}) {
        const typename PackedWeightTest<T>::Problem problem(rows, out, in);
        Matrix<T> expected = problem.bias.replicate(rows, 1);
        Gemm(ConstMatrix<T>(problem.x.data(), rows, in),
             ConstMatrix<T>(problem.weight.data(), out, in).Transposed(),
             MutableMatrix<T>(expected.data(), rows, out), GemmMode::kAdd,
             T(1));
        EXPECT_EQ(problem.Product(0, rows), expected)
            << rows << " rows, " << out << " out, " << in << " in";
      }
    }
  }
}

TYPED_TEST(PackedWeightTest, TheBitsOfARowDoNotDependOnTheOthers) {
  for (const int64_t out : {5, 48, 131}) {
    for (const int64_t in : {37, 300}) {
      const typename PackedWeightTest<TypeParam>::Problem problem(21, out, in);
      const Matrix<TypeParam> all = problem.Product(0, 21);
      for (const int64_t rows : {1, 2, 4, 5, 8, 11}) {
        for (int64_t first = 0; first + rows <= 21; ++first) {
          EXPECT_EQ(problem.Product(first, rows), all.middleRows(first, rows));
        }
      }
    }
  }
}

TYPED_TEST(PackedWeightTest, NoRowsAreNoWork) {
  const typename PackedWeightTest<TypeParam>::Problem problem(1, 60, 9);
  EXPECT_EQ(problem.Product(0, 0).size(), 0);
}

}  // namespace
}  // namespace regard
