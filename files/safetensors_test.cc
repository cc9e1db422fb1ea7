#include "files/safetensors.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string TestPath() {
  return JoinPath(::testing::TempDir(), "test.safetensors");
}

std::string Written(absl::Span<const NamedTensorView> tensors,
                    const std::map<std::string, std::string>& metadata = {}) {
  std::string file;
  EXPECT_THAT(WriteSafetensors(tensors, metadata,
                               [&](absl::string_view bytes) {
                                 absl::StrAppend(&file, bytes);
                                 return absl::OkStatus();
                               }),
              IsOk());
  return file;
}

absl::StatusOr<SafetensorsReader> Opened(absl::string_view file) {
  std::ofstream(TestPath(), std::ios::binary) << file;
  return SafetensorsReader::Open(TestPath());
}

// Returns a file with this header and `buffer` bytes after it.
std::string File(absl::string_view header, size_t buffer) {
  const auto length =
      std::bit_cast<std::array<char, 8>>(static_cast<uint64_t>(header.size()));
  return absl::StrCat(absl::string_view(length.data(), 8), header,
                      std::string(buffer, '\0'));
}

TEST(SafetensorsTest, WritesTheFormatsBytes) {
  const std::vector<float> b = {1.0f};
  const std::vector<float> a = {-2.0f, 0.5f};
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}}";
  const size_t padding = (8 - header.size() % 8) % 8;
  const std::string expected =
      absl::StrCat(File(absl::StrCat(header, std::string(padding, ' ')), 0),
                   std::string("\0\0\0\xc0\0\0\0\x3f\0\0\x80\x3f", 12));
  EXPECT_EQ(Written({{"b", {}, b}, {"a", {1, 2}, a}}), expected);
  EXPECT_EQ(Written({{"a", {1, 2}, a}, {"b", {}, b}}), expected);
}

TEST(SafetensorsTest, ReadsBackTheSameBits) {
  const std::vector<float> values = {std::nanf("0x5"),
                                     -0.0f,
                                     std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::denorm_min(),
                                     1.0f / 3,
                                     -1e38f};
  const std::vector<float> empty;
  FileOperations files;
  ASSERT_THAT(WriteSafetensorsFile(
                  TestPath(),
                  {{"decoder.\"é\n", {2, 3}, values}, {"none", {0, 4}, empty}},
                  {{"alias.output", "decoder"}}, files),
              IsOk());
  const auto reader = SafetensorsReader::Open(TestPath());
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(
      reader->header().metadata,
      ElementsAre(Pair("alias.output", "decoder"), Pair("format", "pt")));
  std::vector<float> read(6);
  ASSERT_THAT(reader->Read("decoder.\"é\n", {2, 3}, absl::MakeSpan(read)),
              IsOk());
  EXPECT_EQ(std::memcmp(read.data(), values.data(), 24), 0);
  EXPECT_THAT(reader->Read("none", {0, 4}, {}), IsOk());
}

TEST(SafetensorsTest, AcceptsNoTensors) {
  const auto reader = Opened(Written({}));
  ASSERT_THAT(reader, IsOk());
  EXPECT_TRUE(reader->header().tensors.empty());
}

TEST(SafetensorsTest, AnotherNameShapeOrTypeIsAnError) {
  const auto reader = Opened(
      File("{\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
           "\"n\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[8,16]}}",
           16));
  ASSERT_THAT(reader, IsOk());
  std::vector<float> read(2);
  EXPECT_THAT(reader->Read("v", {2, 1}, absl::MakeSpan(read)),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("the tensor 'v', F32 [2, 1], is missing")));
  EXPECT_THAT(
      reader->Read("w", {1, 2}, absl::MakeSpan(read)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("tensor 'w' is F32 [2, 1]; expected F32 [1, 2]")));
  EXPECT_THAT(reader->Read("n", {1}, absl::MakeSpan(read).first(1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tensor 'n' is I64 [1]; expected F32 [1]")));
}

template <typename Stored>
std::string BytesOf(std::vector<Stored> values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(Stored));
}

TEST(SafetensorsTest, ReadsNumbersOfSeveralTypes) {
  const auto reader = Opened(absl::StrCat(
      File(R"({"d":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
           R"("f":{"dtype":"F32","shape":[],"data_offsets":[16,20]},)"
           R"("i":{"dtype":"I32","shape":[2,1],"data_offsets":[20,28]},)"
           R"("l":{"dtype":"I64","shape":[1],"data_offsets":[28,36]},)"
           R"("u":{"dtype":"U8","shape":[1],"data_offsets":[36,37]}})",
           0),
      BytesOf<double>({0.1, -1e300}), BytesOf<float>({0.5f}),
      BytesOf<int32_t>({-3, 7}), BytesOf<int64_t>({int64_t{1} << 40}), "x"));
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(*reader->ReadNumbers("d"), ElementsAre(0.1, -1e300));
  EXPECT_THAT(*reader->ReadNumbers("f"), ElementsAre(0.5));
  EXPECT_THAT(*reader->ReadNumbers("i"), ElementsAre(-3, 7));
  EXPECT_THAT(*reader->ReadNumbers("l"), ElementsAre(1099511627776.0));
  EXPECT_THAT(reader->ReadNumbers("u").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'u' is U8; expected F32, F64, I32 or I64")));
  EXPECT_THAT(reader->ReadNumbers("x").status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("the tensor 'x' is missing")));
}

// Returns the values of a tensor of `dtype` that is stored as the bytes of
// `numbers`.
std::vector<float> FloatsOf(const std::string& dtype,
                            const std::vector<uint16_t>& numbers) {
  const size_t bytes = 2 * numbers.size();
  std::string file = File(
      absl::StrCat(R"({"w":{"dtype":")", dtype, R"(","shape":[)",
                   numbers.size(), R"(],"data_offsets":[0,)", bytes, "]}}"),
      bytes);
  if (bytes > 0) {
    std::memcpy(file.data() + file.size() - bytes, numbers.data(), bytes);
  }
  const auto reader = Opened(file);
  EXPECT_THAT(reader, IsOk());
  EXPECT_TRUE(ContainsFloats(reader->header().tensors.at("w")));
  std::vector<float> values(numbers.size());
  EXPECT_THAT(reader->ReadFloats("w", absl::MakeSpan(values)), IsOk());
  return values;
}

TEST(SafetensorsTest, WidensNumbersOfTwoBytes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // The numbers are 1, the largest number, the smallest normal number, the
  // largest and the smallest subnormal number, 0 and infinity.
  EXPECT_THAT(
      FloatsOf("F16", {0x3c00, 0x7bff, 0x0400, 0x03ff, 0x0001, 0x0000, 0x7c00}),
      ElementsAre(1, 65504, 0x1p-14F, 1023 * 0x1p-24F, 0x1p-24F, 0, kInfinity));
  EXPECT_THAT(FloatsOf("F16", {0xbc01, 0xfc00, 0x8001}),
              ElementsAre(-1 - 0x1p-10F, -kInfinity, -0x1p-24F));
  EXPECT_TRUE(std::signbit(FloatsOf("F16", {0x8000})[0]));
  EXPECT_TRUE(std::isnan(FloatsOf("F16", {0x7c01})[0]));
  EXPECT_THAT(FloatsOf("BF16", {0x3f80, 0xc049, 0x7f80, 0x0001}),
              ElementsAre(1, -3.140625F, kInfinity, 0x1p-133F));
  EXPECT_TRUE(std::isnan(FloatsOf("BF16", {0xffc0})[0]));
  EXPECT_THAT(FloatsOf("F16", {}), ElementsAre());
  // The conversion is in place, so a result may overwrite only numbers that
  // were already read.
  std::vector<uint16_t> many(1001);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<uint16_t>(0x3c00 + i);
  }
  const std::vector<float> wide = FloatsOf("F16", many);
  for (size_t i = 0; i < wide.size(); ++i) {
    ASSERT_EQ(wide[i], 1 + static_cast<float>(i) * 0x1p-10F);
  }
}

TEST(SafetensorsTest, ReadsTheReferencesExample) {
  const std::string file = File(
      "{\"test\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}",
      16);
  ASSERT_EQ(file.substr(0, 8), std::string("\x3c\0\0\0\0\0\0\0", 8));
  const auto reader = Opened(file);
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(reader->header().tensors.at("test").shape, ElementsAre(2, 2));
}

struct Malformed {
  std::string name;
  std::string file;
  std::string error;
};

class MalformedTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedTest, IsRefusedWithItsKind) {
  EXPECT_THAT(Opened(GetParam().file).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(absl::StrCat(": ", GetParam().error))));
}

std::string Tensor(absl::string_view dtype, absl::string_view shape,
                   absl::string_view offsets) {
  return absl::StrCat("{\"dtype\":\"", dtype, "\",\"shape\":", shape,
                      ",\"data_offsets\":", offsets, "}");
}

std::string One(absl::string_view shape, absl::string_view offsets,
                size_t buffer) {
  return File(absl::StrCat("{\"t\":", Tensor("I32", shape, offsets), "}"),
              buffer);
}

const char kSyntax[] = "InvalidHeaderDeserialization";

INSTANTIATE_TEST_SUITE_P(
    OfTheReference, MalformedTest,
    ::testing::Values(
        Malformed{"Empty", "", "HeaderTooSmall"},
        Malformed{"SevenBytes", "1234567", "HeaderTooSmall"},
        Malformed{"HugeLength", std::string("\0\0\0\0\0\0\xff\xff{}", 10),
                  "HeaderTooLarge"},
        Malformed{"LengthOnly", std::string("\x3c\0\0\0\0\0\0\0", 8),
                  "InvalidHeaderLength"},
        Malformed{"NoHeader", File("", 0), "InvalidHeaderStart"},
        Malformed{"NotUtf8", File("\xff", 0),
                  "InvalidHeader: the header must be UTF-8"},
        Malformed{"ByteOrderMark", File("\xef\xbb\xbf{}", 0),
                  "InvalidHeaderStart"},
        Malformed{"SpaceFirst", File(" {}", 0), "InvalidHeaderStart"},
        Malformed{"Unterminated", File("{", 0), kSyntax},
        Malformed{"RestAfterTheObject", File("{}x", 0), kSyntax},
        Malformed{"BytesTooMany", One("[2,2]", "[0,16]", 20),
                  "MetadataIncompleteBuffer"},
        Malformed{"BytesTooFew", One("[2,2]", "[0,16]", 14),
                  "MetadataIncompleteBuffer"},
        Malformed{"OffsetsTooShort", One("[2,2]", "[0,4]", 16),
                  "TensorInvalidInfo"},
        Malformed{"HoleAtTheStart", One("[1]", "[4,8]", 8),
                  "InvalidOffset: tensor 't'"},
        Malformed{"EndBeforeBegin", One("[1]", "[0,0]", 0),
                  "TensorInvalidInfo"},
        Malformed{"ProductPastTheRange",
                  One("[2,9223372036854775807]", "[0,16]", 16),
                  "ValidationOverflow"},
        Malformed{"ProductThatWraps",
                  One("[4194305,4194305,211106198978564]", "[0,16]", 16),
                  "ValidationOverflow"},
        Malformed{"BytesPastTheRange",
                  One("[4611686018427387904]", "[0,16]", 16),
                  "ValidationOverflow"}),
    [](const auto& info) { return info.param.name; });

const std::string kByte = Tensor("U8", "[1]", "[0,1]");

INSTANTIATE_TEST_SUITE_P(
    OfOurOwn, MalformedTest,
    ::testing::Values(
        Malformed{
            "NameTwice",
            File(absl::StrCat("{\"t\":", kByte, ",\"t\":", kByte, "}"), 1),
            "InvalidHeaderDeserialization: header:1:57: error: 't' occurs "
            "twice"},
        Malformed{
            "NameTwiceByEscape",
            File(absl::StrCat("{\"t\":", kByte, ",\"\\u0074\":", kByte, "}"),
                 1),
            "InvalidHeaderDeserialization: header:1:62: error: 't' occurs "
            "twice"},
        Malformed{
            "FieldTwice",
            File("{\"t\":{\"dtype\":\"U8\",\"dtype\":\"F32\",\"shape\":[1]"
                 ",\"data_offsets\":[0,1]}}",
                 1),
            kSyntax},
        Malformed{"MetadataTwice",
                  File("{\"__metadata__\":{},\"__metadata__\":{}}", 0),
                  kSyntax},
        Malformed{"MetadataKeyTwice",
                  File("{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0),
                  kSyntax},
        Malformed{"MetadataNumber", File("{\"__metadata__\":{\"a\":1}}", 0),
                  kSyntax},
        Malformed{"NestedMetadata",
                  File("{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", 0), kSyntax},
        Malformed{"UnknownField",
                  File("{\"t\":{\"dtype\":\"U8\",\"strides\":[1]}}", 0),
                  kSyntax},
        Malformed{"FieldMissing", File("{\"t\":{\"dtype\":\"U8\"}}", 0),
                  kSyntax},
        Malformed{
            "UnknownType",
            File(absl::StrCat("{\"t\":", Tensor("F33", "[]", "[0,1]"), "}"), 1),
            kSyntax},
        Malformed{
            "Overlap",
            File(absl::StrCat("{\"t\":", kByte, ",\"u\":", kByte, "}"), 1),
            "InvalidOffset: tensor 'u'"},
        Malformed{"SizePastTheRange",
                  One("[2,18446744073709551614]", "[0,16]", 16), kSyntax},
        Malformed{"Null", File("{\"t\":null}", 0), kSyntax},
        Malformed{
            "NullAfterANulInItsName",
            File(absl::StrCat("{\"t\":", kByte, ",\"t\\u0000\":null}"), 1),
            kSyntax},
        Malformed{"MetadataNull", File("{\"__metadata__\":{\"a\":null}}", 0),
                  kSyntax},
        Malformed{
            "NegativeSize", One("[-1]", "[0,4]", 4),
            "InvalidHeaderDeserialization: tensor 't': header:1:29: error: "
            "shape must be an array of integers of at least 0, but is [-1]"},
        Malformed{"FractionalSize", One("[1.0]", "[0,4]", 4), kSyntax},
        Malformed{"NestedShape", One("[[1]]", "[0,4]", 4), kSyntax},
        Malformed{"ThreeOffsets", One("[1]", "[0,4,4]", 4), kSyntax},
        Malformed{"HugeOffset", One("[1]", "[0,1e30]", 4), kSyntax},
        Malformed{"DeepNesting",
                  File(absl::StrCat("{\"t\":", std::string(100000, '[')), 0),
                  kSyntax},
        Malformed{"LoneSurrogate", File("{\"\\ud800\":{}}", 0), kSyntax}),
    [](const auto& info) { return info.param.name; });

TEST(SafetensorsTest, EveryTruncationIsRefused) {
  const std::vector<float> values = {1.0f, 2.0f, 3.0f};
  const std::string file = Written(
      {{"a", {2}, {values.data(), 2}}, {"b", {1}, {values.data() + 2, 1}}});
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(Opened(file.substr(0, size)).ok()) << size << " bytes";
  }
  EXPECT_THAT(Opened(file), IsOk());
}

// A flipped bit may leave a valid header, such as another name, so the test
// does not require an error. Checkpoints have digests that detect all flipped
// bits.
TEST(SafetensorsTest, NoFlippedHeaderByteCrashesOrReadsOutOfBounds) {
  const std::vector<float> values = {1.0f, 2.0f};
  const std::string file = Written({{"a", {2}, values}}, {{"key", "é"}});
  const size_t header_end = file.size() - 8;
  for (size_t i = 0; i < header_end; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = file;
      flipped[i] ^= static_cast<char>(1 << bit);
      const auto reader = Opened(flipped);
      if (!reader.ok()) continue;
      std::vector<float> read(2);
      if (reader->Read("a", {2}, absl::MakeSpan(read)).ok()) {
        EXPECT_EQ(read, values) << "byte " << i << " bit " << bit;
      }
    }
  }
}

TEST(SafetensorsDeathTest, RequiresAsManyValuesAsTheShape) {
  const std::vector<float> values = {1.0f};
  EXPECT_DEATH(Written({{"w", {2}, values}}), "w \\[2\\]");
  EXPECT_DEATH(Written({{"w", {1}, values}, {"w", {1}, values}}),
               "w occurs twice");
}

}  // namespace
}  // namespace regard
