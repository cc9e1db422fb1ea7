#include "pretrained/pretrained_weights.h"

#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "pretrained/tensor_folder.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

std::vector<float> Counted(int64_t size, float first) {
  std::vector<float> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Returns a table of two layers, each with one fused and transposed matrix, as
// in GPT-2.
WeightTable Table() {
  return {.names =
              {{.ours = "embedding.weight",
                .theirs = "model.wte.weight",
                .rows = 3},
               {.ours = "token", .theirs = "model.token", .shape = {1, 1, 2}},
               {.ours = "layers.*.query.*",
                .theirs = "model.h.*.attn.*",
                .transposed = true,
                .part = 0,
                .parts = 2},
               {.ours = "layers.*.key.*",
                .theirs = "model.h.*.attn.*",
                .transposed = true,
                .part = 1,
                .parts = 2},
               {.ours = "output.weight", .theirs = "lm_head.weight", .rows = 3},
               {.ours = "head.bias", .theirs = "score", .of_task = true}},
          .prefix = "model.",
          .old_endings = {{".gamma", ".weight"}},
          .ignored = {"h.*.mask", "pooler.**"}};
}

class PretrainedWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(
        ::testing::TempDir(), "/",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    tensors_ = {{"model.wte.weight", {3, 2}, Counted(6, 0)},
                {"model.token", {1, 1, 2}, {6, 7}},
                // The shape is [2 inputs, 2 parts * 3 outputs].
                {"model.h.0.attn.weight", {2, 6}, Counted(12, 10)},
                {"model.h.0.attn.bias", {6}, Counted(6, 30)}};
  }

  // Adds the parameters of the table. The embedding has two of the three rows
  // of its tensor.
  static void Register(ParameterStore<float>& store) {
    const ParameterScope<float> root = store.Root();
    const Parameter<float> embedding =
        root.Sub("embedding").Add("weight", {2, 2}, Zeros());
    root.Add("token", {2}, Zeros());
    for (const char* name : {"query", "key"}) {
      const ParameterScope<float> map = root.Sub("layers", 0).Sub(name);
      map.Add("weight", {3, 2}, Zeros());
      map.Add("bias", {3}, Zeros());
    }
    root.Sub("output").Alias("weight", embedding);
  }

  void Write(const std::string& name, const std::vector<Tensor>& tensors) {
    std::vector<NamedTensorView> views;
    for (const Tensor& tensor : tensors) {
      views.push_back({tensor.name, tensor.shape, tensor.values});
    }
    FileOperations files;
    ASSERT_THAT(WriteSafetensorsFile(JoinPath(folder_, name), views, {}, files),
                IsOk());
  }
  void WriteText(const std::string& name, absl::string_view text) {
    std::ofstream(JoinPath(folder_, name), std::ios::binary) << text;
  }

  absl::Status Load(ParameterStore<float>& store,
                    std::vector<std::string>* kept = nullptr) {
    if (!store.finalized()) {
      Register(store);
      store.Finalize(/*seed=*/0);
    }
    const auto weights = PretrainedWeights::Open(folder_, Table());
    return weights.ok() ? weights->Load(store, kept) : weights.status();
  }
  // Writes the tensors to one file, loads them, and returns the error.
  std::string ErrorOf() {
    Write("model.safetensors", tensors_);
    ParameterStore<float> store;
    const absl::Status status = Load(store);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
  static absl::Span<const float> Value(const ParameterStore<float>& store,
                                       absl::string_view name) {
    return store.value(*store.FindByName(name));
  }
  static void ExpectValues(const ParameterStore<float>& store) {
    EXPECT_THAT(Value(store, "embedding.weight"), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(Value(store, "token"), ElementsAre(6, 7));
    EXPECT_THAT(Value(store, "layers.0.query.weight"),
                ElementsAre(10, 16, 11, 17, 12, 18));
    EXPECT_THAT(Value(store, "layers.0.key.weight"),
                ElementsAre(13, 19, 14, 20, 15, 21));
    EXPECT_THAT(Value(store, "layers.0.query.bias"), ElementsAre(30, 31, 32));
    EXPECT_THAT(Value(store, "layers.0.key.bias"), ElementsAre(33, 34, 35));
  }

  std::string folder_;
  std::vector<Tensor> tensors_;
};

TEST_F(PretrainedWeightsTest, FillsByTheTable) {
  // Ignored tensors may have any shape.
  tensors_.push_back({"model.h.7.mask", {1}, {1}});
  tensors_.push_back({"pooler.dense.deep.weight", {0}, {}});
  Write("model.safetensors", tensors_);
  ParameterStore<float> store;
  ASSERT_THAT(Load(store), IsOk());
  ExpectValues(store);
}

TEST_F(PretrainedWeightsTest, NamesMayLackThePrefixAndHaveOldEndings) {
  for (Tensor& tensor : tensors_) {
    tensor.name = absl::StrReplaceAll(
        tensor.name, {{"model.", ""}, {"wte.weight", "wte.gamma"}});
  }
  Write("model.safetensors", tensors_);
  ParameterStore<float> store;
  ASSERT_THAT(Load(store), IsOk());
  ExpectValues(store);
  const auto weights = PretrainedWeights::Open(folder_, Table());
  ASSERT_THAT(weights, IsOk());
  EXPECT_TRUE(weights->Has("model.wte.weight"));
  EXPECT_TRUE(weights->Has("wte.weight"));
  EXPECT_FALSE(weights->Has("wte.bias"));
}

// 37 rows are transposed in groups of 16, so the last group is smaller.
TEST_F(PretrainedWeightsTest, TransposesInPieces) {
  constexpr int64_t kInputs = 37;
  Write("model.safetensors", {{"w", {kInputs, 5}, Counted(5 * kInputs, 0)}});
  const WeightTable table = {
      .names = {{.ours = "weight", .theirs = "w", .transposed = true}}};
  ParameterStore<float> store;
  store.Root().Add("weight", {5, kInputs}, Zeros());
  store.FinalizeWithZeros();
  const auto weights = PretrainedWeights::Open(folder_, table);
  ASSERT_THAT(weights, IsOk());
  ASSERT_THAT(weights->Load(store), IsOk());
  for (int64_t output = 0; output < 5; ++output) {
    for (int64_t input = 0; input < kInputs; ++input) {
      ASSERT_EQ(store.values()[output * kInputs + input], input * 5 + output);
    }
  }
}

TEST_F(PretrainedWeightsTest, IsWrittenByTheSameTable) {
  Write("model.safetensors", tensors_);
  ParameterStore<float> store;
  ASSERT_THAT(Load(store), IsOk());
  WeightTable table = Table();
  for (WeightMapping& line : table.names) line.rows = 0;
  FileOperations files;
  const std::string copy = JoinPath(folder_, "copy");
  std::filesystem::create_directories(copy);
  ASSERT_THAT(WritePretrainedWeights(table, store, copy, files), IsOk());
  tensors_[0].shape = {2, 2};
  tensors_[0].values.resize(4);
  const auto written = TensorFolder::Open(copy);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->tensors().size(), tensors_.size());
  for (const Tensor& tensor : tensors_) {
    ASSERT_TRUE(written->tensors().contains(tensor.name)) << tensor.name;
    EXPECT_EQ(written->info(tensor.name).shape, tensor.shape);
    std::vector<float> values(tensor.values.size());
    ASSERT_THAT(written->Read(tensor.name, absl::MakeSpan(values)), IsOk());
    EXPECT_EQ(values, tensor.values) << tensor.name;
  }
  ParameterStore<float> unknown;
  unknown.Root().Add("gate", {1}, Zeros());
  unknown.FinalizeWithZeros();
  EXPECT_THAT(
      WritePretrainedWeights(table, unknown, copy, files).message(),
      HasSubstr(
          "no tensor of this format holds the parameter 'gate' of this model"));
}

// If the parameter has another size than the tensor, the error must name the
// shape of the parameter, not the fixed shape in the table.
TEST_F(PretrainedWeightsTest, AFixedShapeAppliesOnlyToItsSize) {
  Write("model.safetensors", tensors_);
  ParameterStore<float> store;
  store.Root().Add("token", {3}, Zeros());
  store.FinalizeWithZeros();
  EXPECT_THAT(
      Load(store).message(),
      HasSubstr("tensor 'model.token' is F32 [1, 1, 2]; expected F32 [3]"));
}

TEST_F(PretrainedWeightsTest, NamesAllProblems) {
  tensors_[0].shape = {2, 3};
  tensors_[1].name = "model.tokens";
  tensors_[3].values[4] = std::numeric_limits<float>::quiet_NaN();
  tensors_[3].values[5] = std::numeric_limits<float>::infinity();
  tensors_.push_back({"h.1.attn.bias", {6}, Counted(6, 0)});
  EXPECT_EQ(
      absl::StrReplaceAll(ErrorOf(), {{folder_, "DIR"}}),
      "DIR/model.safetensors: error: tensor 'model.wte.weight' is F32 "
      "[2, 3]; expected F32 [3, 2]\n"
      "DIR/model.safetensors: error: the tensor 'model.token', F32 "
      "[1, 1, 2], is missing\n"
      "DIR/model.safetensors: error: tensor 'h.1.attn.bias' does not "
      "belong to this model\n"
      "DIR/model.safetensors: error: tensor 'model.tokens' does not "
      "belong to this model\n"
      "DIR/model.safetensors: error: tensor 'model.h.0.attn.bias' has 2 "
      "numbers that are not finite, the first at index 4; all must be finite");
}

// The problem is the same for both parameters, so it must be listed once.
TEST_F(PretrainedWeightsTest, NamesATensorOfSeveralParametersOnce) {
  tensors_[2].shape = {6, 2};
  EXPECT_EQ(absl::StrReplaceAll(ErrorOf(), {{folder_, "DIR"}}),
            "DIR/model.safetensors: error: tensor 'model.h.0.attn.weight' is "
            "F32 [6, 2]; expected F32 [2, 6]");
  tensors_.erase(tensors_.begin() + 2);
  EXPECT_EQ(absl::StrReplaceAll(ErrorOf(), {{folder_, "DIR"}}),
            "DIR/model.safetensors: error: the tensor 'model.h.0.attn.weight', "
            "F32 [2, 6], is missing");
}

TEST_F(PretrainedWeightsTest, FindsNumbersThatAreNotFinite) {
  tensors_[2].values[11] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(ErrorOf(),
              HasSubstr("tensor 'model.h.0.attn.weight' has 1 numbers that "
                        "are not finite, the first at index 11"));
}

TEST_F(PretrainedWeightsTest, ChecksWithoutTheModelsMemory) {
  tensors_[0].shape = {1, 6};
  tensors_[1].values[0] = std::numeric_limits<float>::infinity();
  Write("model.safetensors", tensors_);
  ParameterStore<float> store;
  Register(store);
  const auto weights = PretrainedWeights::Open(folder_, Table());
  ASSERT_THAT(weights, IsOk());
  EXPECT_THAT(std::string(weights->Check(store).message()),
              AllOf(HasSubstr("expected F32 [3, 2]"), HasSubstr("not finite")));
}

TEST_F(PretrainedWeightsTest, TiedTensorsMustBeTheSame) {
  // The tensor has all three rows. Only the two rows of the parameter are
  // compared.
  tensors_.push_back({"lm_head.weight", {3, 2}, {0, 1, 2, 3, 9, 9}});
  Write("model.safetensors", tensors_);
  ParameterStore<float> store;
  ASSERT_THAT(Load(store), IsOk());
  ExpectValues(store);
  tensors_.back().values = {0, 1, 7, 8, 4, 5};
  EXPECT_THAT(ErrorOf(),
              HasSubstr("tensors 'model.wte.weight' and 'lm_head.weight' are "
                        "the same parameter, but 2 of their numbers differ"));
  tensors_.back().shape = {2, 3};
  EXPECT_THAT(ErrorOf(),
              HasSubstr("'lm_head.weight' is F32 [2, 3]; expected F32 [3, 2]"));
  // The file contains the same name with the prefix and without the prefix.
  tensors_.back() = {"token", {1, 1, 2}, {6, 8}};
  EXPECT_THAT(ErrorOf(), HasSubstr("'model.token' and 'token' are the same "
                                   "parameter, but 1 of"));
}

TEST_F(PretrainedWeightsTest, KeepsMissingTensorsOnRequest) {
  Write("model.safetensors", tensors_);
  const auto load = [&](std::vector<std::string>* kept) {
    ParameterStore<float> store;
    Register(store);
    store.Root().Sub("head").Add("bias", {2}, Constant(5));
    store.Root().Add("width", {1}, Constant(4));
    store.Finalize(/*seed=*/0);
    const absl::Status loaded = Load(store, kept);
    if (loaded.ok()) {
      ExpectValues(store);
      EXPECT_THAT(Value(store, "head.bias"), ElementsAre(5, 5));
      EXPECT_THAT(Value(store, "width"), ElementsAre(4));
    }
    return loaded;
  };
  for (const int64_t size : {0, 3}) {
    // If `size` is 0, there is no tensor. Otherwise, its shape is wrong.
    if (size > 0) {
      tensors_.push_back({"score", {size}, Counted(size, 0)});
      Write("model.safetensors", tensors_);
    }
    std::vector<std::string> kept;
    EXPECT_THAT(load(&kept), IsOk());
    EXPECT_THAT(kept, ElementsAre("head.bias", "width"));
    EXPECT_THAT(
        std::string(load(nullptr).message()),
        AllOf(
            HasSubstr(size > 0 ? "'score' is F32 [3]; expected F32 [2]"
                               : "the tensor 'score', F32 [2], is missing"),
            HasSubstr("no tensor holds the parameter 'width' of this model")));
  }
}

// Returns a file with a tensor of two-byte numbers.
std::string Halves(const std::string& dtype,
                   const std::vector<uint16_t>& numbers) {
  const std::string header = absl::StrCat(
      R"({"w":{"dtype":")", dtype, R"(","shape":[)", numbers.size(),
      R"(],"data_offsets":[0,)", 2 * numbers.size(), "]}}");
  const auto length =
      std::bit_cast<std::array<char, 8>>(static_cast<uint64_t>(header.size()));
  return absl::StrCat(
      absl::string_view(length.data(), 8), header,
      absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                        2 * numbers.size()));
}

TEST_F(PretrainedWeightsTest, ReadsNumbersOfTwoBytes) {
  const WeightTable table = {.names = {{.ours = "weight", .theirs = "w"}}};
  ParameterStore<float> store;
  store.Root().Add("weight", {3}, Zeros());
  store.FinalizeWithZeros();
  const auto load = [&] {
    const auto weights = PretrainedWeights::Open(folder_, table);
    return weights.ok() ? weights->Load(store) : weights.status();
  };
  WriteText("model.safetensors", Halves("F16", {0x3c00, 0xc100, 0x0001}));
  ASSERT_THAT(load(), IsOk());
  EXPECT_THAT(Value(store, "weight"), ElementsAre(1, -2.5F, 0x1p-24F));
  WriteText("model.safetensors", Halves("BF16", {0x3f80, 0xc020, 0x0080}));
  ASSERT_THAT(load(), IsOk());
  EXPECT_THAT(Value(store, "weight"), ElementsAre(1, -2.5F, 0x1p-126F));
  WriteText("model.safetensors", Halves("BF16", {0x3f80, 0x7f80, 0x7fc0}));
  EXPECT_THAT(load().message(), HasSubstr("2 numbers that are not finite"));
  WriteText("model.safetensors", Halves("I16", {1, 2, 3}));
  EXPECT_THAT(
      load().message(),
      HasSubstr("tensor 'w' is I16 [3]; expected F32, F16 or BF16 [3]"));
  WriteText("model.safetensors", Halves("F16", {1, 2, 3, 4}));
  EXPECT_THAT(load().message(), HasSubstr("is F16 [4]; expected F16 [3]"));
}

class ShardsTest : public PretrainedWeightsTest {
 protected:
  void SetUp() override {
    PretrainedWeightsTest::SetUp();
    for (const Tensor& tensor : tensors_) places_[tensor.name] = "a";
    places_["model.token"] = "b";
    Write("a", {tensors_[0], tensors_[2], tensors_[3]});
    Write("b", {tensors_[1]});
  }

  absl::Status LoadShards(ParameterStore<float>& store) {
    const auto pair = [](std::string* out, const auto& place) {
      absl::StrAppend(out, "\"", place.first, "\":\n\"", place.second, "\"");
    };
    WriteText("model.safetensors.index.json",
              absl::StrCat(R"({"metadata": {"total_size": 1}, "weight_map": {)",
                           absl::StrJoin(places_, ",", pair), "}}"));
    return Load(store);
  }
  std::string ErrorOfShards() {
    ParameterStore<float> store;
    const absl::Status status = LoadShards(store);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  std::map<std::string, std::string> places_;
};

TEST_F(ShardsTest, AreReadByTheIndex) {
  ParameterStore<float> store;
  ASSERT_THAT(LoadShards(store), IsOk());
  ExpectValues(store);
}

TEST_F(ShardsTest, NothingOutsideOfTheFolderIsOpened) {
  std::filesystem::create_directories(JoinPath(folder_, "deep"));
  // Some of these names refer to valid files, but none may be opened.
  for (const std::string& name :
       {std::string("../b"), absl::StrCat(folder_, "/b"), std::string("./b"),
        std::string("deep/../b"), std::string(".."), std::string(".")}) {
    places_["model.token"] = name;
    EXPECT_THAT(
        ErrorOfShards(),
        AllOf(HasSubstr("model.safetensors.index.json:4:1: error: '"),
              HasSubstr(absl::StrCat(
                  "'", name, "' must be the name of a file in this folder"))));
  }
  places_["model.token"] = "";
  EXPECT_THAT(ErrorOfShards(), HasSubstr("'' must be the name of a file"));
  std::filesystem::create_symlink(JoinPath(folder_, "b"),
                                  JoinPath(folder_, "link"));
  places_["model.token"] = "link";
  EXPECT_THAT(ErrorOfShards(), HasSubstr("'link' is a link"));
  places_["model.token"] = "deep";
  EXPECT_THAT(ErrorOfShards(), HasSubstr("'deep' must be a regular file"));
}

TEST_F(ShardsTest, AllMissingFilesAreNamed) {
  places_["model.token"] = "c";
  places_["model.wte.weight"] = "d";
  places_["model.h.0.attn.bias"] = "c";
  EXPECT_THAT(ErrorOfShards(), AllOf(HasSubstr("'c' must be in this folder"),
                                     HasSubstr("'d' must be in this folder")));
}

TEST_F(ShardsTest, TensorsMustBeWhereTheIndexHasThem) {
  places_["model.token"] = "a";
  EXPECT_THAT(ErrorOfShards(),
              HasSubstr("/a: error: tensor 'model.token' must be in this file, "
                        "as the index says, but is not there"));
  places_.erase("model.token");
  places_["other"] = "b";
  EXPECT_THAT(
      ErrorOfShards(),
      AllOf(HasSubstr("/b: error: tensor 'other' must be in this file"),
            HasSubstr("/b: error: tensor 'model.token' is in this file, but "
                      "the index does not list it there; correct the index")));
}

TEST_F(ShardsTest, ProblemsOfTensorsNameTheirFile) {
  places_["more"] = "b";
  Write("b", {tensors_[1], {"more", {1}, {0}}});
  EXPECT_THAT(ErrorOfShards(),
              AllOf(HasSubstr("/b: error: tensor 'more' does not belong to"),
                    Not(HasSubstr("/a: error"))));
}

TEST_F(ShardsTest, TheIndexIsReadStrictly) {
  const auto error = [&](absl::string_view index) {
    WriteText("model.safetensors.index.json", index);
    ParameterStore<float> store;
    return std::string(Load(store).message());
  };
  EXPECT_THAT(error("{}"), HasSubstr("weight_map is missing"));
  EXPECT_THAT(error(R"({"weight_map": 1})"), HasSubstr("must be an object"));
  EXPECT_THAT(error(R"({"weight_map": {"a": 1}})"),
              HasSubstr("a must be a string"));
  EXPECT_THAT(error(R"({"weight_map": {}})"),
              HasSubstr("the tensor 'model.wte.weight', F32"));
  EXPECT_THAT(error(R"({"weight_map": {"a": "a", "a": "a"}})"),
              HasSubstr("'a' occurs twice"));
}

TEST_F(ShardsTest, AWholeFileComesFirst) {
  WriteText("model.safetensors.index.json", "broken");
  Write("model.safetensors", tensors_);
  ParameterStore<float> store;
  ASSERT_THAT(Load(store), IsOk());
  ExpectValues(store);
}

}  // namespace
}  // namespace regard
