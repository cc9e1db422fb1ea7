#include "autodiff/kernels/packed_weight.h"

#include <algorithm>

#include "Eigen/Core"

namespace regard {

namespace {

template <typename T>
using Packet = typename Eigen::internal::packet_traits<T>::type;

template <typename T>
constexpr int64_t kPacket = Eigen::internal::packet_traits<T>::size;

// A tile of the result stays in registers: rows times packets of columns.
constexpr int kPackets = 3;
constexpr int kTileRows = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 8 : 4;

template <typename T>
constexpr int64_t kColumns = kPackets* kPacket<T>;

template <typename T>
int64_t NumPanels(int64_t out) {
  return (out + kColumns<T> - 1) / kColumns<T>;
}

// The inner extent is cut as Gemm() cuts it; each piece is a chain of its own.
constexpr int64_t kDepth = 256;

// Rows that are `stride` apart; all are one row where it is 0.
template <typename U>
struct Rows {
  U* data;
  int64_t stride;

  Rows From(int64_t row) const { return {data + row * stride, stride}; }
};

// y [kRows, columns of a panel] = x [kRows, depth] panel + addend.
template <typename T, int kRows>
void MultiplyTile(Rows<const T> x, int64_t depth, const T* panel,
                  Rows<const T> addend, Rows<T> y) {
  using Eigen::internal::padd;
  using Eigen::internal::pload;
  using Eigen::internal::ploadu;
  using Eigen::internal::pmadd;
  using Eigen::internal::pset1;
  using Eigen::internal::pstoreu;
  Packet<T> sums[kRows][kPackets];
  for (auto& row : sums) {
    for (Packet<T>& sum : row) sum = pset1<Packet<T>>(T(0));
  }
  for (int64_t k = 0; k < depth; ++k) {
    Packet<T> columns[kPackets];
    for (int j = 0; j < kPackets; ++j) {
      columns[j] = pload<Packet<T>>(panel + k * kColumns<T> + j * kPacket<T>);
    }
    for (int i = 0; i < kRows; ++i) {
      const Packet<T> factor = pset1<Packet<T>>(x.data[i * x.stride + k]);
      for (int j = 0; j < kPackets; ++j) {
        sums[i][j] = pmadd(factor, columns[j], sums[i][j]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kPackets; ++j) {
      pstoreu(y.data + i * y.stride + j * kPacket<T>,
              padd(ploadu<Packet<T>>(addend.data + i * addend.stride +
                                     j * kPacket<T>),
                   sums[i][j]));
    }
  }
}

// The same for any number of rows.
template <typename T>
void MultiplyPanel(Rows<const T> x, int64_t rows, int64_t depth, const T* panel,
                   Rows<const T> addend, Rows<T> y) {
  int64_t i = 0;
  for (; i + kTileRows <= rows; i += kTileRows) {
    MultiplyTile<T, kTileRows>(x.From(i), depth, panel, addend.From(i),
                               y.From(i));
  }
  for (; i + 4 <= rows; i += 4) {
    MultiplyTile<T, 4>(x.From(i), depth, panel, addend.From(i), y.From(i));
  }
  for (; i < rows; ++i) {
    MultiplyTile<T, 1>(x.From(i), depth, panel, addend.From(i), y.From(i));
  }
}

// The same for a panel whose columns are not all of the result.
template <typename T>
void MultiplyLastPanel(Rows<const T> x, int64_t rows, int64_t depth,
                       const T* panel, Rows<const T> addend, int64_t columns,
                       Rows<T> y) {
  T tile[kTileRows * kColumns<T>];
  T padded[kTileRows * kColumns<T>] = {};
  for (int64_t first = 0; first < rows; first += kTileRows) {
    const int64_t tile_rows = std::min<int64_t>(kTileRows, rows - first);
    for (int64_t i = 0; i < tile_rows; ++i) {
      std::copy_n(addend.From(first + i).data, columns,
                  padded + i * kColumns<T>);
    }
    MultiplyPanel<T>(x.From(first), tile_rows, depth, panel,
                     {padded, kColumns<T>}, {tile, kColumns<T>});
    for (int64_t i = 0; i < tile_rows; ++i) {
      std::copy_n(tile + i * kColumns<T>, columns, y.From(first + i).data);
    }
  }
}

// Transposes weight [columns, in], columns at most those of a panel.
template <typename T>
void PackPanel(const T* weight, int64_t columns, int64_t in, T* panel) {
  constexpr int64_t kSize = kPacket<T>;
  for (int64_t j = 0; j < kColumns<T>; j += kSize) {
    int64_t k = 0;
    if (j + kSize <= columns) {
      for (; k + kSize <= in; k += kSize) {
        Eigen::internal::PacketBlock<Packet<T>, static_cast<int>(kSize)> square;
        for (int64_t i = 0; i < kSize; ++i) {
          square.packet[i] =
              Eigen::internal::ploadu<Packet<T>>(weight + (j + i) * in + k);
        }
        Eigen::internal::ptranspose(square);
        for (int64_t i = 0; i < kSize; ++i) {
          Eigen::internal::pstore(panel + (k + i) * kColumns<T> + j,
                                  square.packet[i]);
        }
      }
    }
    for (; k < in; ++k) {
      for (int64_t i = j; i < j + kSize; ++i) {
        panel[k * kColumns<T> + i] = i < columns ? weight[i * in + k] : T(0);
      }
    }
  }
}

}  // namespace

template <typename T>
int64_t PackedWeight<T>::StorageSize(int64_t out, int64_t in) {
  return NumPanels<T>(out) * in * kColumns<T>;
}

template <typename T>
PackedWeight<T>::PackedWeight(const T* weight, int64_t out, int64_t in,
                              T* storage)
    : out_(out), in_(in), panels_(storage) {
  for (int64_t first = 0; first < out; first += kColumns<T>) {
    PackPanel(weight + first * in, std::min(kColumns<T>, out - first), in,
              panels_ + first * in);
  }
}

template <typename T>
void PackedWeight<T>::Multiply(const T* x, int64_t rows, const T* bias,
                               T* y) const {
  for (int64_t first = 0; first < out_; first += kColumns<T>) {
    const int64_t columns = std::min(kColumns<T>, out_ - first);
    for (int64_t k = 0; k < in_; k += kDepth) {
      const int64_t depth = std::min(kDepth, in_ - k);
      const T* const panel = panels_ + first * in_ + k * kColumns<T>;
      const Rows<const T> addend = k == 0 ? Rows<const T>{bias + first, 0}
                                          : Rows<const T>{y + first, out_};
      if (columns == kColumns<T>) {
        MultiplyPanel<T>({x + k, in_}, rows, depth, panel, addend,
                         {y + first, out_});
      } else {
        MultiplyLastPanel<T>({x + k, in_}, rows, depth, panel, addend, columns,
                             {y + first, out_});
      }
    }
  }
}

template class PackedWeight<float>;
template class PackedWeight<double>;

}  // namespace regard
