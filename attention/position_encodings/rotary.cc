// Rotary position embedding: rotates each pair of dimensions by an angle that
// is proportional to the position. Su et al., "RoFormer", 2021.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attention/position_encoding.h"
#include "attention/position_encodings/position_encoding.pb.h"

namespace regard {

namespace {

// Layout of rows with `width` elements. The first `turned` elements are rotated
// in pairs.
struct Pairs {
  int64_t width;
  int64_t turned;
  bool interleaved;

  int64_t count() const { return turned / 2; }
  int64_t First(int64_t pair) const { return interleaved ? 2 * pair : pair; }
  int64_t Second(int64_t pair) const {
    return interleaved ? 2 * pair + 1 : pair + count();
  }
};

// The cosines and sines of all pairs at all rows, [rows, pairs].
template <typename T>
struct Angles {
  const T* cos;
  const T* sin;
};

// The address of this constant identifies tables of angles on a tape.
constexpr char kAngles = 0;

// Rotates `row` by the angles, or by the negated angles if `sign` is -1. Stores
// the result in `turned`, or adds it to `turned` if kAdd.
template <bool kAdd, typename T>
void TurnRow(const Pairs& pairs, const T* cos, const T* sin, T sign,
             const T* row, T* turned) {
  const auto put = [=](int64_t i, T value) {
    turned[i] = kAdd ? turned[i] + value : value;
  };
  for (int64_t p = 0; p < pairs.count(); ++p) {
    const int64_t i = pairs.First(p);
    const int64_t j = pairs.Second(p);
    const T s = sign * sin[p];
    put(i, row[i] * cos[p] - row[j] * s);
    put(j, row[j] * cos[p] + row[i] * s);
  }
  for (int64_t i = pairs.turned; i < pairs.width; ++i) put(i, row[i]);
}

}  // namespace

template <typename T>
class Rotary : public PositionEncoding<T> {
 public:
  using Options = RotaryEncoding;

  Rotary(const Options& options, ParameterScope<T>, const ScoreWidths& widths)
      : interleaved_(options.style() == RotaryEncoding::INTERLEAVED),
        base_(options.base()),
        turned_(options.width() > 0 ? options.width() : widths.query) {}

  static void Validate(const Options& options, const ScoreWidths& widths,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
    const int64_t narrower = std::min(widths.query, widths.key);
    problems.RequireInRange("width", options.width(), 0,
                            static_cast<double>(narrower));
    const int64_t turned = options.width() > 0 ? options.width() : widths.query;
    if (turned % 2 != 0 || turned > narrower) {
      problems.Add("width",
                   "must be even and at most the smaller width of queries and "
                   "keys, because dimensions rotate in pairs");
    }
  }

  Var<T> Encode(Forward<T>& forward, Var<T> x, int64_t first,
                int64_t step) const override {
    Tape<T>& tape = forward.tape();
    const int64_t n = x.dim(2);
    const Pairs pairs = {x.dim(3), turned_, interleaved_};
    const Angles<T> angles = AnglesOf(tape, n, first, step);
    Var<T> turned = tape.New(x.shape(), x.needs_grad());
    const auto for_each_row = [=](auto f) {
      for (int64_t row = 0; row < x.rows(); ++row) {
        const int64_t at = row % n * pairs.count();
        f(row * pairs.width, angles.cos + at, angles.sin + at);
      }
    };
    for_each_row([&](int64_t row, const T* cos, const T* sin) {
      TurnRow<false>(pairs, cos, sin, T(1), x.data() + row,
                     turned.data() + row);
    });
    tape.Record("Rotary", turned, [=] {
      auto d = x.grad_ref();
      const bool add = d.BeginContribution();
      const T* d_turned = turned.grad_data();
      T* const d_x = d.data();
      for_each_row([&](int64_t row, const T* cos, const T* sin) {
        if (add) {
          TurnRow<true>(pairs, cos, sin, T(-1), d_turned + row, d_x + row);
        } else {
          TurnRow<false>(pairs, cos, sin, T(-1), d_turned + row, d_x + row);
        }
      });
    });
    return turned;
  }

 private:
  // Returns the angles of n rows at positions first, first + step, ... The
  // angles are computed in double, so that they are accurate even at large
  // positions. The angles of a row depend only on its position. All layers of a
  // step share the angles.
  Angles<T> AnglesOf(Tape<T>& tape, int64_t n, int64_t first,
                     int64_t step) const {
    const int64_t pairs = turned_ / 2;
    const TableKey key = {&kAngles, base_, {turned_, n, first, step}};
    const T* const table = tape.Table(key, 2 * n * pairs, [&](T* numbers) {
      T* const cos = numbers;
      T* const sin = numbers + n * pairs;
      for (int64_t p = 0; p < pairs; ++p) {
        const double frequency =
            std::pow(base_, -2.0 * static_cast<double>(p) /
                                static_cast<double>(turned_));
        for (int64_t i = 0; i < n; ++i) {
          const double angle =
              static_cast<double>(first + i * step) * frequency;
          cos[i * pairs + p] = static_cast<T>(std::cos(angle));
          sin[i * pairs + p] = static_cast<T>(std::sin(angle));
        }
      }
    });
    return {table, table + n * pairs};
  }

  bool interleaved_;
  double base_;
  int64_t turned_;
};

REGARD_POSITION_ENCODING(Rotary,
                         "rotates pair i by position * base^(-2 i / width)")

}  // namespace regard
