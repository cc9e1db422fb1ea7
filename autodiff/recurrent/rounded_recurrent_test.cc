// Compares recurrent operations with plain loops and calls of Gemm(), bit for
// bit. The tape rounds the operands of products.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/packed_weights.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/testing/rounding_tape.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using Numbers = std::vector<float>;

constexpr int64_t kBatch = 3;
constexpr int64_t kTime = 5;
constexpr int64_t kWidth = 40;  // longer than one piece of a product

enum class CellKind { kGruBefore, kGruAfter, kLstm };

constexpr CellKind kCells[] = {CellKind::kGruBefore, CellKind::kGruAfter,
                               CellKind::kLstm};

int64_t GatesOf(CellKind kind) { return kind == CellKind::kLstm ? 4 : 3; }

Numbers Scaled(Numbers x, float factor) {
  for (float& value : x) value *= factor;
  return x;
}

// The operands of a recurrent layer. On() creates them on a tape.
struct Cell {
  explicit Cell(CellKind kind, int64_t time = kTime)
      : kind(kind),
        time(time),
        width(GatesOf(kind) * kWidth),
        x(NormalFloats(kBatch * time * width, 1)),
        weight(Scaled(NormalFloats(width * kWidth, 2), 0.2F)),
        bias(NormalFloats(width, 3)),
        h(NormalFloats(kBatch * kWidth, 4)),
        c(NormalFloats(kBatch * kWidth, 5)),
        d_weight(weight.size()) {
    packed.Add();
  }

  bool has_bias() const { return kind != CellKind::kGruBefore; }

  // Returns the rows of `rows` in time-major order.
  Numbers TimeMajor(const float* rows, int64_t cols) const {
    Numbers out;
    for (int64_t t = 0; t < time; ++t) {
      for (int64_t b = 0; b < kBatch; ++b) {
        const float* const row = rows + (b * time + t) * cols;
        out.insert(out.end(), row, row + cols);
      }
    }
    return out;
  }

  // Creates the operands on a tape. With `copies`, the weight has packed
  // copies.
  RecurrentSequenceOperands<float> On(Tape<float>& tape, bool copies = false) {
    RecurrentSequenceOperands<float> in;
    in.projected = tape.Input({kBatch, time, width}, x);
    in.weight_hh = copies ? tape.Leaf(weight.data(), d_weight.data(),
                                      {width, kWidth}, false, &packed[0])
                          : tape.Input({width, kWidth}, weight);
    if (has_bias()) in.bias_hh = tape.Input({width}, bias);
    in.initial[0] = tape.Input({kBatch, kWidth}, h);
    if (kind == CellKind::kLstm) {
      in.initial[1] = tape.Input({kBatch, kWidth}, c);
    }
    return in;
  }

  Var<float> Run(const RecurrentSequenceOperands<float>& in) const {
    if (kind == CellKind::kLstm) return LstmSequence(in).sequence;
    return GruSequence(in, kind == CellKind::kGruAfter ? GruForm::kResetAfter
                                                       : GruForm::kResetBefore)
        .sequence;
  }

  CellKind kind;
  int64_t time;
  int64_t width;
  Numbers x, weight, bias, h, c, d_weight;
  PackedWeights<float> packed;
};

ConstMatrix<float> WeightOf(const Cell& cell, int64_t first, int64_t rows) {
  return {cell.weight.data() + first * kWidth, rows, kWidth};
}

// Assigns the product of a and b to c, or adds it to c.
void Multiply(const ConstMatrix<float>& a, const ConstMatrix<float>& b,
              float* c, GemmMode mode = GemmMode::kAssign) {
  Gemm<float>(a, b, {c, a.rows, b.cols}, mode, 1, ProductPrecision::kBfloat16);
}

// The values that a cell computes, time-major.
struct Expected {
  Numbers states;  // h before each step
  Numbers gates;   // in each step
  Numbers resets;  // r * h in each step of a GRU
  Numbers outputs;
};

void LstmStep(const float* x, const float* product, const float* bias,
              float* gates, float* h, float* c) {
  const int64_t w = kWidth;
  for (int64_t i = 0; i < 4 * w; ++i) gates[i] = x[i] + (product[i] + bias[i]);
  Sigmoid(gates, gates, 2 * w);
  Tanh(gates + 2 * w, gates + 2 * w, w);
  Sigmoid(gates + 3 * w, gates + 3 * w, w);
  Numbers tanh(w);
  for (int64_t i = 0; i < w; ++i) {
    c[i] = gates[w + i] * c[i] + gates[i] * gates[2 * w + i];
  }
  Tanh(c, tanh.data(), w);
  for (int64_t i = 0; i < w; ++i) h[i] = gates[3 * w + i] * tanh[i];
}

void GruStep(const Cell& cell, const float* x, const float* product,
             float* gates, float* reset, float* h) {
  const int64_t w = kWidth;
  const bool after = cell.kind == CellKind::kGruAfter;
  for (int64_t i = 0; i < 2 * w; ++i) {
    gates[i] = x[i] + (after ? product[i] + cell.bias[i] : product[i]);
  }
  Sigmoid(gates, gates, 2 * w);
  for (int64_t i = 0; i < w; ++i) reset[i] = gates[i] * h[i];
  Numbers candidate(w);
  if (after) {
    for (int64_t i = 0; i < w; ++i) {
      candidate[i] = gates[i] * (product[2 * w + i] + cell.bias[2 * w + i]);
    }
  } else {
    Multiply({reset, 1, w}, WeightOf(cell, 2 * w, w).Transposed(),
             candidate.data());
  }
  float* const n = gates + 2 * w;
  for (int64_t i = 0; i < w; ++i) n[i] = x[2 * w + i] + candidate[i];
  Tanh(n, n, w);
  for (int64_t i = 0; i < w; ++i) {
    h[i] = gates[w + i] * h[i] + (1 - gates[w + i]) * n[i];
  }
}

Expected Compute(const Cell& cell) {
  const int64_t width = cell.width;
  const Numbers x = cell.TimeMajor(cell.x.data(), width);
  Numbers h = cell.h;
  Numbers c = cell.c;
  Expected out;
  for (int64_t t = 0; t < cell.time; ++t) {
    out.states.insert(out.states.end(), h.begin(), h.end());
    Numbers product(kBatch * width), gates(kBatch * width);
    Numbers resets(kBatch * kWidth);
    Multiply({h.data(), kBatch, kWidth}, WeightOf(cell, 0, width).Transposed(),
             product.data());
    for (int64_t b = 0; b < kBatch; ++b) {
      const float* const row = x.data() + (t * kBatch + b) * width;
      float* const of_gates = gates.data() + b * width;
      if (cell.kind == CellKind::kLstm) {
        LstmStep(row, product.data() + b * width, cell.bias.data(), of_gates,
                 h.data() + b * kWidth, c.data() + b * kWidth);
      } else {
        GruStep(cell, row, product.data() + b * width, of_gates,
                resets.data() + b * kWidth, h.data() + b * kWidth);
      }
    }
    out.gates.insert(out.gates.end(), gates.begin(), gates.end());
    out.resets.insert(out.resets.end(), resets.begin(), resets.end());
    out.outputs.insert(out.outputs.end(), h.begin(), h.end());
  }
  return out;
}

// Returns the gradients of the products with h. `d_x` is the gradient of the
// projected inputs. Both are time-major.
Numbers ProductGradients(const Cell& cell, const Expected& expected,
                         Numbers d_x) {
  if (cell.kind != CellKind::kGruAfter) return d_x;
  for (size_t row = 0; row < d_x.size() / cell.width; ++row) {
    const float* const gates = expected.gates.data() + row * cell.width;
    float* const d = d_x.data() + row * cell.width;
    for (int64_t i = 0; i < kWidth; ++i) d[2 * kWidth + i] *= gates[i];
  }
  return d_x;
}

// Returns how many rows of the weight multiply h.
int64_t RowsOfState(const Cell& cell) {
  return cell.kind == CellKind::kGruBefore ? 2 * kWidth : cell.width;
}

TEST(RoundedRecurrentTest, HasTheBitsOfPlainProducts) {
  for (const CellKind kind : kCells) {
    for (const bool copies : {false, true}) {
      SCOPED_TRACE(static_cast<int>(kind) * 2 + (copies ? 1 : 0));
      Cell cell(kind);
      ProductRoundingTape tape;
      const RecurrentSequenceOperands<float> in = cell.On(tape, copies);
      const Var<float> y = cell.Run(in);
      const Expected expected = Compute(cell);
      ASSERT_EQ(Bits(cell.TimeMajor(y.data(), kWidth)), Bits(expected.outputs));

      BackwardFrom(y, 6);
      const int64_t rows = kBatch * kTime;
      const int64_t of_state = RowsOfState(cell);
      const Numbers d_product = ProductGradients(
          cell, expected, cell.TimeMajor(in.projected.grad_data(), cell.width));
      Numbers d_weight(cell.weight.size());
      Multiply(ConstMatrix<float>(d_product.data(), rows, of_state, cell.width)
                   .Transposed(),
               {expected.states.data(), rows, kWidth}, d_weight.data());
      if (of_state < cell.width) {
        Multiply(ConstMatrix<float>(d_product.data() + of_state, rows, kWidth,
                                    cell.width)
                     .Transposed(),
                 {expected.resets.data(), rows, kWidth},
                 d_weight.data() + of_state * kWidth);
      }
      EXPECT_EQ(GradientBits(in.weight_hh), Bits(d_weight));
    }
  }
}

// With a single step, plain products can compute the gradient of the initial
// state.
TEST(RoundedRecurrentTest, TheGradientOfTheStateHasTheBitsOfPlainProducts) {
  for (const CellKind kind : kCells) {
    SCOPED_TRACE(static_cast<int>(kind));
    Cell cell(kind, /*time=*/1);
    ProductRoundingTape tape;
    const RecurrentSequenceOperands<float> in = cell.On(tape);
    const Numbers g = BackwardFrom(cell.Run(in), 6);
    const Expected expected = Compute(cell);
    const float* const d_x = in.projected.grad_data();
    const int64_t width = cell.width;
    Numbers d_h(kBatch * kWidth), d_reset(kBatch * kWidth);
    if (kind == CellKind::kGruBefore) {
      Multiply({d_x + 2 * kWidth, kBatch, kWidth, width},
               WeightOf(cell, 2 * kWidth, kWidth), d_reset.data());
    }
    if (kind != CellKind::kLstm) {
      for (int64_t b = 0; b < kBatch; ++b) {
        const float* const gates = expected.gates.data() + b * width;
        for (int64_t i = 0; i < kWidth; ++i) {
          const int64_t j = b * kWidth + i;
          d_h[j] = g[j] * gates[kWidth + i];
          if (kind == CellKind::kGruBefore) d_h[j] += d_reset[j] * gates[i];
        }
      }
    }
    const Numbers d_product =
        ProductGradients(cell, expected, Numbers(d_x, d_x + kBatch * width));
    const int64_t of_state = RowsOfState(cell);
    Multiply({d_product.data(), kBatch, of_state, width},
             WeightOf(cell, 0, of_state), d_h.data(), GemmMode::kAdd);
    EXPECT_EQ(GradientBits(in.initial[0]), Bits(d_h));
  }
}

TEST(RoundedRecurrentTest, GradientsAreCloseToThoseInFullPrecision) {
  for (const CellKind kind : kCells) {
    Cell cell(kind);
    ProductRoundingTape rounding;
    Tape<float> full;
    const RecurrentSequenceOperands<float> a = cell.On(rounding);
    const RecurrentSequenceOperands<float> b = cell.On(full);
    BackwardFrom(cell.Run(a), 6);
    BackwardFrom(cell.Run(b), 6);
    const auto compare = [](Var<float> x, Var<float> y) {
      EXPECT_NE(GradientBits(x), GradientBits(y));
      float largest = 0;
      for (int64_t i = 0; i < y.size(); ++i) {
        largest = std::max(largest, std::abs(y.grad_data()[i]));
      }
      for (int64_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(x.grad_data()[i], y.grad_data()[i], 0.03 * largest);
      }
    };
    compare(a.projected, b.projected);
    compare(a.initial[0], b.initial[0]);
    compare(a.weight_hh, b.weight_hh);
  }
}

TEST(RoundedRecurrentTest, InferenceHasTheBitsOfTraining) {
  for (const CellKind kind : kCells) {
    Cell cell(kind);
    ProductRoundingTape training, inference;
    inference.set_recording(false);
    const Var<float> y = cell.Run(cell.On(training, true));
    EXPECT_EQ(Bits(cell.Run(cell.On(inference, true)).span()), Bits(y.span()));
  }
}

TEST(RoundedRecurrentTest, AWarmStepAllocatesNothing) {
  for (const CellKind kind : kCells) {
    for (const bool copies : {false, true}) {
      Cell cell(kind);
      ProductRoundingTape tape;
      int64_t before = 0;
      for (int step = 0; step < 4; ++step) {
        if (step == 2) before = AllocationCount();
        tape.Reset();
        cell.packed.Invalidate();
        const Var<float> y = cell.Run(cell.On(tape, copies));
        if (auto d = y.grad_ref()) d.AddEach([](int64_t) { return 1; });
        tape.BackwardTo({});
      }
      EXPECT_EQ(AllocationCount() - before, 0);
    }
  }
}

}  // namespace
}  // namespace regard
