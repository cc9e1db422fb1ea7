#include "experiments/report/inspection_page.h"

#include <cstddef>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/patching.h"
#include "attention/inspection/trace.h"
#include "autodiff/shape.h"
#include "experiments/report/run_results.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

AttentionMap<float> Map(const std::string& name, bool over_memory,
                        const Shape& shape, std::vector<float> weights) {
  AttentionMap<float> map;
  map.site = name + "/attention/weights";
  map.name = name;
  map.over_memory = over_memory;
  map.shape = shape;
  map.weights = std::move(weights);
  return map;
}

// Returns an inspection with self-attention of two heads over two tokens, and a
// patch.
InspectedPrediction Classified() {
  InspectedPrediction prediction;
  Inspection<float>& inspection = prediction.inspection;
  TraceDescription& labels = inspection.labels;
  labels.input = "a b";
  labels.prediction = "good";
  labels.sequences = {{.name = "text", .labels = {"a", "b"}}};
  labels.sites = {{"*", 0, 0}};
  labels.outputs = {{"good"}, {"bad"}};
  labels.notes = {"a note"};
  inspection.chosen = 0;
  inspection.outputs = {-.25, -1.5};
  inspection.maps = {
      Map("bert.0.self", false, {1, 2, 2, 2}, {1, 0, .5, .5, 0, 1, .25, .75})};
  inspection.maps[0].gradients = {1, 2, 3, 4, 5, 6, 7, 8};
  inspection.heads = {{"bert.0.self/attention/context", {.125, 2}}};
  inspection.inputs = {{"bert/embedded", {"a", "b"}, {1, 3}}};
  inspection.rollouts = {{"bert",
                          "bert.0.self/attention/weights",
                          {"a", "b"},
                          {"a", "b"},
                          {1, 0, .5, .5}}};
  inspection.lens_rows = {"the class"};
  inspection.lens = {{"bert/residual", {{{"bad", .75}, {"good", .25}}}}};
  prediction.patched =
      PatchingResult{.value = -.25,
                     .other_value = -2,
                     .sites = {{"bert/residual", {"a", "b"}, {0, -1.75}}}};
  prediction.other_input = "a c";
  return prediction;
}

TEST(HeadsTableTest, AveragesOverQueries) {
  Inspection<float> inspection;
  inspection.maps = {Map("bert.0.self", false, {1, 1, 4, 4},
                         {1, 0, 0, 0,       // [CLS]
                          0, 1, 0, 0,       // query a attends only to itself
                          .5, .25, 0, .25,  // b
                          1, 0, 0, 0}),
                     Map("cross", true, {1, 1, 1, 2}, {.5, .5})};
  const Table table = HeadsTable(inspection);
  EXPECT_THAT(table.header,
              ElementsAre("attention", "head", "importance", "entropy",
                          "itself", "before", "after", "first", "last"));
  // The entropy of row b is (ln 2 + ln 4) / 2 = 1.0397. The other rows have 0.
  EXPECT_THAT(
      table.rows,
      ElementsAre(ElementsAre("bert.0.self/attention/weights", "0", "", "0.260",
                              "0.500", "0.062", "0.062", "0.625", "0.062"),
                  ElementsAre("cross/attention/weights", "0", "", "0.693", "",
                              "", "", "", "")));
  EXPECT_THAT(HeadsTable(Classified().inspection).rows[1],
              ElementsAre("bert.0.self/attention/weights", "1", "2", "0.281",
                          "0.375", "0.125", "0.500", "0.125", "0.875"));
}

TEST(InspectionJsonTest, HasAllValues) {
  EXPECT_EQ(
      InspectionJson(Classified()).dump(),
      R"({"input":"a b","answer":"good","output_unit":"log p",)"
      R"("outputs":[{"name":"good","value":-0.25},{"name":"bad","value":-1.5}],)"
      R"("chosen":0,"maps":[{"site":"bert.0.self/attention/weights",)"
      R"("name":"bert.0.self","rows":["a","b"],"columns":["a","b"],)"
      R"("heads":[[[1.0,0.0],[0.5,0.5]],[[0.0,1.0],[0.25,0.75]]],)"
      R"("gradients":[[[1.0,2.0],[3.0,4.0]],[[5.0,6.0],[7.0,8.0]]]}],)"
      R"("head_importance":[{"site":"bert.0.self/attention/context",)"
      R"("heads":[0.125,2.0]}],"lens":[{"site":"bert/residual","rows":[)"
      R"({"row":"the class","choices":[{"name":"bad","probability":0.75},)"
      R"({"name":"good","probability":0.25}]}]}],"inputs":[{"site":)"
      R"("bert/embedded","labels":["a","b"],"norms":[1.0,3.0]}],"rollout":[)"
      R"({"stack":"bert","rows":["a","b"],"columns":["a","b"],"shares":)"
      R"([[1.0,0.0],[0.5,0.5]]}],"patch":{"from":"a c","value":-0.25,)"
      R"("other_value":-2.0,"sites":[{"site":"bert/residual","labels":)"
      R"(["a","b"],"changes":[0.0,-1.75]}]},"notes":["a note"]})");
  InspectedPrediction bare;
  bare.inspection.labels.gold = {{0, 1}};
  bare.inspection.maps = {Map("cross", true, {1, 1, 1, 1}, {1})};
  EXPECT_EQ(InspectionJson(bare).dump(),
            R"({"input":"","answer":"","output_unit":"log p","outputs":[],)"
            R"("chosen":null,"maps":[{"site":"cross/attention/weights",)"
            R"("name":"cross","rows":["0"],"columns":["0"],)"
            R"("heads":[[[1.0]]],"gold":[[0,1]]}]})");
}

TEST(InspectionHtmlTest, OmitsUnusedParts) {
  const std::string page = InspectionHtml(Classified(), "tiny");
  for (const char* section :
       {">Attention<", ">Heads<", ">What each layer would predict<", ">Inputs<",
        ">Rollout<", ">Patch<"}) {
    EXPECT_THAT(page, HasSubstr(section));
  }
  EXPECT_THAT(page, HasSubstr("bad 0.750"));
  EXPECT_THAT(page, HasSubstr("from the other input"));
  EXPECT_THAT(page, Not(HasSubstr(">Gradients<")));
  InspectedPrediction bare = Classified();
  bare.patched.reset();
  bare.inspection.lens.clear();
  bare.inspection.inputs.clear();
  bare.inspection.rollouts.clear();
  const std::string small = InspectionHtml(bare, "tiny");
  for (const char* section : {">What each layer would predict<", ">Inputs<",
                              ">Rollout<", ">Patch<"}) {
    EXPECT_THAT(small, Not(HasSubstr(section)));
  }
}

TEST(InspectionHtmlTest, DrawsWeightsOverTheImage) {
  InspectedPrediction prediction = Classified();
  Inspection<float>& inspection = prediction.inspection;
  // The two tokens are a class token and one patch.
  inspection.labels.sequences[0].image = {.height = 1,
                                          .width = 1,
                                          .rgb = {1, 2, 3},
                                          .rows = 1,
                                          .columns = 1,
                                          .first = 1};
  const std::string page = InspectionHtml(prediction, "tiny");
  EXPECT_THAT(page, HasSubstr("<figcaption>head 1</figcaption>"));
  EXPECT_THAT(page, HasSubstr("data:image/png;base64"));
  EXPECT_THAT(InspectionSvg(prediction), HasSubstr("data:image/png;base64"));
  EXPECT_THAT(InspectionSvg(Classified()),
              Not(HasSubstr("data:image/png;base64")));
}

// Returns the blocks of the page and the data of its figures, without pixels.
std::string ContentOf(const InspectedPrediction& prediction) {
  const std::string page = InspectionHtml(prediction, "tiny");
  const size_t begin = page.find("<main>");
  return absl::StrCat(
      std::regex_replace(page.substr(begin, page.find("<script>") - begin),
                         std::regex("base64,[^\"]*"), "base64,"),
      "\n");
}

// Returns an inspection of a translation. If `image` has a value, its patches
// are the source, with or without a class token.
InspectedPrediction Translated(std::optional<TracedImage> image) {
  InspectedPrediction prediction = Classified();
  Inspection<float>& inspection = prediction.inspection;
  TraceDescription& labels = inspection.labels;
  labels.sequences = {
      {.name = "source", .labels = {"a", "b", "c"}, .image = std::move(image)},
      {.name = "target", .labels = {"<bos>", "x"}, .writes = {"x", "<eos>"}}};
  labels.sites = {{"encoder*", 0, 0}, {"cross*", 1, 0}, {"*", 1, 1}};
  labels.outputs = {{"x", 0}, {"<eos>", 1}};
  labels.successive = true;
  labels.writer = 1;
  labels.alignment = "cross/attention/weights";
  inspection.maps = {Map("encoder.0.self", false, {1, 1, 3, 3},
                         {.5, .25, .25, 0, 1, 0, .125, .75, .125}),
                     Map("decoder.0.self", false, {1, 1, 2, 2}, {1, 0, .5, .5}),
                     Map("cross", true, {1, 2, 2, 3},
                         {.5, .25, .25, 0, 1, 0, .25, .5, .25, 1, 0, 0})};
  inspection.maps[1].gradients = {1, 2, 3, 4};
  inspection.inputs = {{"encoder/embedded", {"a", "b", "c"}, {1, 3, 4}},
                       {"decoder/embedded", {"<bos>", "x"}, {0, 0}}};
  inspection.rollouts = {{"encoder",
                          "encoder.0.self/attention/weights",
                          {"a", "b", "c"},
                          {"a", "b", "c"},
                          {.5, .25, .25, 0, 1, 0, .125, .75, .125}}};
  prediction.patched->sites.push_back({"encoder/state", {"a", "b"}, {.5, .25}});
  prediction.patched->sites.push_back({"decoder/state", {"x"}, {.75}});
  return prediction;
}

TracedImage Image(int first) {
  return {.height = 1,
          .width = 3,
          .rgb = {1, 2, 3, 4, 5, 6, 7, 8, 9},
          .rows = 1,
          .columns = 3 - first,
          .first = first};
}

TEST(InspectionHtmlTest, IsAsInTheFiles) {
  EXPECT_EQ(
      ContentOf(Translated({})),
      ReadFile("experiments/report/testdata/inspected_text.html").value());
  EXPECT_EQ(
      ContentOf(Translated(Image(0))) + ContentOf(Translated(Image(1))),
      ReadFile("experiments/report/testdata/inspected_images.html").value());
}

// Returns an inspection with two layers of two heads.
InspectedPrediction TwoLayers() {
  InspectedPrediction prediction = Classified();
  std::vector<AttentionMap<float>>& maps = prediction.inspection.maps;
  maps[0].site = "bert/layers[0]/self/attention/weights";
  maps.push_back(maps[0]);
  maps[1].site = "bert/layers[1]/self/attention/weights";
  maps[1].layer = 1;
  return prediction;
}

TEST(InspectionSvgTest, LayersOfAStackFormAGrid) {
  const std::string svg = InspectionSvg(TwoLayers());
  for (const char* text :
       {">bert/layers[*]/self/attention/weights<", ">layer 0<", ">layer 1<",
        ">head 0<", ">head 1<", ">attention weight<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

TEST(InspectionSvgTest, ShowsTheLayerAndHeadThatAreChosen) {
  const InspectedPrediction prediction = TwoLayers();
  const std::string svg = InspectionSvg(prediction, {.layer = 1, .head = 1});
  EXPECT_THAT(svg, HasSubstr(">bert/layers[1]/self/attention/weights<"));
  EXPECT_THAT(svg, HasSubstr(">head 1<"));
  for (const char* text : {"layers[0]", ">head 0<", "rollout", "change of"}) {
    EXPECT_THAT(svg, Not(HasSubstr(text)));
  }
  EXPECT_THAT(InspectionSvg(prediction, {.head = 0}), HasSubstr(">layer 1<"));
  const auto check = [&](int layer, int head) {
    return CheckLayerHeadSelection(prediction.inspection, {layer, head});
  };
  EXPECT_THAT(check(1, 1), testing::IsOk());
  EXPECT_THAT(check(-1, -1), testing::IsOk());
  EXPECT_THAT(check(2, 0),
              testing::StatusIs(
                  absl::StatusCode::kInvalidArgument,
                  "error: --layer=2: must be less than 2, the number of layers "
                  "with attention"));
  EXPECT_THAT(
      check(1, 2),
      testing::StatusIs(absl::StatusCode::kInvalidArgument,
                        "error: --head=2: must be less than 2, the number "
                        "of heads"));
}

TEST(InspectionSvgTest, HasMapsRolloutsAndThePatch) {
  const std::string svg = InspectionSvg(Classified());
  for (const char* title :
       {"bert.0.self", "bert: rollout", "change of the output"}) {
    EXPECT_THAT(svg, HasSubstr(title));
  }
}

TEST(InspectionArraysTest, AreNamedByHookPoint) {
  const std::string path = ::testing::TempDir() + "/arrays.safetensors";
  ASSERT_THAT(WriteInspectionArrays(Classified(), path), testing::IsOk());
  const auto reader = SafetensorsReader::Open(path);
  ASSERT_THAT(reader.status(), testing::IsOk());
  const auto numbers = [&](const char* name) {
    return reader->ReadNumbers(name).value();
  };
  EXPECT_THAT(numbers("outputs"), ElementsAre(-.25, -1.5));
  EXPECT_THAT(numbers("bert.0.self/attention/weights"),
              ElementsAre(1, 0, .5, .5, 0, 1, .25, .75));
  EXPECT_THAT(numbers("gradient/bert.0.self/attention/weights"),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(numbers("importance/bert.0.self/attention/context"),
              ElementsAre(.125, 2));
  EXPECT_THAT(numbers("gradient_norm/bert/embedded"), ElementsAre(1, 3));
  EXPECT_THAT(numbers("rollout/bert"), ElementsAre(1, 0, .5, .5));
  EXPECT_THAT(numbers("patch/bert/residual"), ElementsAre(0, -1.75));
  EXPECT_EQ(reader->header().tensors.size(), 7u);
}

}  // namespace
}  // namespace regard
