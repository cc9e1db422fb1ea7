#include "attention/transformer/validation.h"

#include <string>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TransformerConfig Parse(const std::string& text) {
  TransformerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

// Returns "path: message" for each problem.
std::vector<std::string> ProblemsOf(const std::string& text,
                                    int64_t memory_width = 8,
                                    Direction direction = Direction::kCausal) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  ConfigProblems problems;
  ValidateTransformer(scorers, Parse(text), memory_width, direction, problems);
  std::vector<std::string> found;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    found.push_back(problem.path + ": " + problem.message);
  }
  for (const std::string& note : problems.notes()) {
    found.push_back("note: " + note);
  }
  return found;
}

TransformerLayerConfig LayerOf(const TransformerConfig& config, int64_t index) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return LayerConfig(scorers, config, index);
}

TEST(ValidateTransformerTest, DefaultsAreValid) {
  EXPECT_THAT(ProblemsOf(""), IsEmpty());
}

// `none` must replace an inherited map, sink, and norm of queries and keys.
// Cross-attention and the second pattern contain `none`.
TEST(LayerConfigTest, NoneReplacesInheritedParts) {
  const std::string none =
      "query_key_norm { kind: NONE } attention { sink { none {} } map_before { "
      "none {} } map_after { none {} } ";
  const std::string text =
      "width: 8 layers: 2 attention { heads: 2 query_key_norm {} attention { "
      "sink { logit: 1 } map_before { top_k {} } map_after { talking_heads {} "
      "} } } cross_attention { " +
      none + "} } pattern {} pattern { attention { " + none +
      "normalizer { sigmoid {} } } } }";
  EXPECT_THAT(ProblemsOf(text), IsEmpty());
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  const auto has_none = [](const MultiHead& heads) {
    const Attention& config = heads.attention();
    EXPECT_EQ(config.sink().has_none(), config.map_before().has_none());
    EXPECT_EQ(config.sink().has_none(), config.map_after().has_none());
    EXPECT_EQ(config.sink().has_none(),
              heads.query_key_norm().kind() == QueryKeyNormConfig::NONE);
    EXPECT_NE(config.sink().has_none(), config.sink().has_logit());
    return config.sink().has_none();
  };
  const TransformerLayerConfig first = LayerConfig(scorers, Parse(text), 0);
  EXPECT_FALSE(has_none(first.attention()));
  EXPECT_TRUE(has_none(first.cross_attention()));
  const TransformerLayerConfig second = LayerConfig(scorers, Parse(text), 1);
  EXPECT_TRUE(has_none(second.attention()));
  EXPECT_TRUE(has_none(second.cross_attention()));
}

// `none` must replace inherited latents, and an inherited forget gate, position
// encoding and selection. Without `none`, cross-attention must inherit only the
// selection.
TEST(LayerConfigTest, NoneReplacesPartsOfSelfAttention) {
  const std::string none =
      "latent { none {} } attention { forget { none {} } position_encoding { "
      "none {} } selection { none {} } } ";
  const std::string text =
      "width: 8 layers: 2 attention { heads: 2 latent { rank: 3 rotary_width: "
      "4 } attention { forget { bias: 2 } position_encoding { alibi {} } "
      "selection { moba {} } } } cross_attention { " +
      none + "} pattern {} pattern { attention { key_heads: 1 " + none + "} }";
  EXPECT_THAT(ProblemsOf(text), IsEmpty());
  const TransformerLayerConfig first = LayerOf(Parse(text), 0);
  EXPECT_TRUE(HasLatent(first.attention()));
  EXPECT_TRUE(HasForget(first.attention().attention()));
  EXPECT_TRUE(first.attention().attention().position_encoding().has_alibi());
  EXPECT_TRUE(first.attention().attention().selection().has_moba());
  const TransformerLayerConfig second = LayerOf(Parse(text), 1);
  for (const MultiHead* heads : {&first.cross_attention(), &second.attention(),
                                 &second.cross_attention()}) {
    EXPECT_FALSE(HasLatent(*heads));
    EXPECT_FALSE(heads->latent().has_rank());
    EXPECT_FALSE(HasForget(heads->attention()));
    EXPECT_FALSE(heads->attention().forget().has_bias());
    EXPECT_TRUE(heads->attention().position_encoding().has_none());
    EXPECT_TRUE(heads->attention().selection().has_none());
  }
  const TransformerLayerConfig inheriting =
      LayerOf(Parse(text.substr(0, text.find("cross_attention"))), 0);
  const Attention& cross = inheriting.cross_attention().attention();
  EXPECT_TRUE(cross.selection().has_moba());
  EXPECT_FALSE(cross.has_position_encoding());
  EXPECT_FALSE(cross.has_forget());
  EXPECT_FALSE(inheriting.cross_attention().has_latent());
}

TEST(LayerConfigTest, FieldsReplaceAnInheritedNone) {
  const std::string none =
      "latent { none {} } attention { sink { none {} } forget { none {} } } ";
  const TransformerConfig config = Parse(
      "width: 8 layers: 2 attention { heads: 2 " + none +
      "} pattern { "
      "attention { latent { rank: 3 } attention { sink {} forget { bias: 1 } } "
      "} cross_attention { latent {} attention { sink {} } } }");
  const TransformerLayerConfig layer = LayerOf(config, 0);
  EXPECT_EQ(layer.attention().latent().rank(), 3);
  EXPECT_TRUE(HasLatent(layer.attention()));
  EXPECT_TRUE(HasForget(layer.attention().attention()));
  EXPECT_FALSE(layer.attention().attention().sink().has_none());
  EXPECT_TRUE(HasLatent(layer.cross_attention()));
  EXPECT_FALSE(layer.cross_attention().attention().sink().has_none());
}

TEST(ValidateTransformerTest, NotesFieldsBesideNone) {
  EXPECT_THAT(
      ProblemsOf("attention { attention { sink { logit: 1 none {} } } }"),
      ElementsAre(StartsWith("note: attention.attention.sink.none: ")));
  EXPECT_THAT(
      ProblemsOf("attention { attention { forget { bias: 1 none {} } } }"),
      ElementsAre(StartsWith("note: attention.attention.forget.none: ")));
  EXPECT_THAT(ProblemsOf("attention { latent { query_rank: 2 none {} } }"),
              ElementsAre(StartsWith("note: attention.latent.none: ")));
  // A resolved config sets every field to its default, even if `none` is set.
  // Validation must not report these fields.
  EXPECT_THAT(
      ProblemsOf("attention { latent { rank: 0 form: MATERIALISED norm: true "
                 "epsilon: 1e-6 query_rank: 0 rotary_base: 10000 none {} } "
                 "attention { forget { bias: 0 none {} } } }"),
      IsEmpty());
}

TEST(ValidateTransformerTest, HeadsDivideTheWidth) {
  EXPECT_THAT(ProblemsOf("width: 12 attention { heads: 5 }"),
              ElementsAre(StartsWith("attention.heads: must divide")));
}

TEST(ValidateTransformerTest, PointsAtAScoreThatReadsEarlierWeights) {
  EXPECT_THAT(
      ProblemsOf("attention { attention { coverage {} } }"),
      ElementsAre(AllOf(StartsWith("attention.attention: "),
                        HasSubstr("reads the weights of earlier queries"))));
  EXPECT_THAT(ProblemsOf("cross_attention { attention { coverage {} } }"),
              ElementsAre(StartsWith("cross_attention.attention: ")));
  EXPECT_THAT(ProblemsOf("layers: 2 pattern {} pattern { attention { attention "
                         "{ location_aware {} } } }"),
              ElementsAre(StartsWith("pattern[1].attention.attention: ")));
}

TEST(ValidateTransformerTest, PointsAtEachField) {
  EXPECT_THAT(ProblemsOf("width: 0"), ElementsAre(StartsWith("width: ")));
  EXPECT_THAT(ProblemsOf("layers: 300"), ElementsAre(StartsWith("layers: ")));
  EXPECT_THAT(ProblemsOf("dropout: 1 drop_path: -1"),
              ElementsAre(StartsWith("dropout: "), StartsWith("drop_path: ")));
  EXPECT_THAT(ProblemsOf("pattern { drop_path: 0.5 } pattern { drop_path: 1 }"),
              ElementsAre(StartsWith("pattern[1].drop_path: ")));
  EXPECT_THAT(ProblemsOf("feed_forward { hidden: -1 dropout: 1 }"),
              ElementsAre(StartsWith("feed_forward.hidden: "),
                          StartsWith("feed_forward.dropout: ")));
  EXPECT_THAT(ProblemsOf("feed_forward { none {} bias: true }"), IsEmpty());
  EXPECT_THAT(
      ProblemsOf("feed_forward { none {} hidden: 7 }"),
      ElementsAre(StartsWith("note: feed_forward.none: disables the ")));
  EXPECT_THAT(
      ProblemsOf("feed_forward { none {} activation: GELU }"),
      ElementsAre(StartsWith("note: feed_forward.none: disables the ")));
  EXPECT_THAT(ProblemsOf("feed_forward { hidden: 7 activation: GELU } pattern "
                         "{ feed_forward { none {} } }"),
              IsEmpty());
  EXPECT_THAT(
      ProblemsOf("pattern { feed_forward { none {} dropout: 0.1 } }"),
      ElementsAre(StartsWith("note: pattern[0].feed_forward.none: disables ")));
  EXPECT_THAT(ProblemsOf("norm { epsilon: 0 }"),
              ElementsAre(StartsWith("norm.epsilon: ")));
  // A resolved config also sets fields that have no effect. Validation must not
  // report them.
  EXPECT_THAT(ProblemsOf("norm { kind: RMS_NORM bias: true }"), IsEmpty());
  EXPECT_THAT(ProblemsOf("position_embedding { longest: 0 }"),
              ElementsAre(StartsWith("position_embedding.longest: ")));
  EXPECT_THAT(ProblemsOf("initialization { scale_residual: true }"),
              ElementsAre(StartsWith("note: initialization.scale_residual: ")));
  EXPECT_THAT(ProblemsOf("attention { output_width: 7 }"),
              ElementsAre(StartsWith("attention.output_width: ")));
  EXPECT_THAT(ProblemsOf("tied_embeddings: TARGET_OUTPUT output_bias: true"),
              IsEmpty());
  EXPECT_THAT(ProblemsOf("layers: 1 pattern {} pattern {}"),
              ElementsAre("note: pattern: has 2 layers; only 1 are used, as "
                          "`layers` says"));
}

TEST(ValidateTransformerTest, FieldsThatEachPatternReplacesAreNotChecked) {
  const std::string wrong = "attention { heads: 5 } layers: 2 width: 12 ";
  EXPECT_THAT(ProblemsOf(wrong + "pattern { attention { heads: 4 } }"),
              IsEmpty());
  // An invalid field that some pattern does not replace must be reported once,
  // under its own path.
  EXPECT_THAT(
      ProblemsOf(wrong + "pattern { attention { heads: 4 } } pattern {}"),
      ElementsAre(StartsWith("attention.heads: must divide")));
  EXPECT_THAT(ProblemsOf(wrong + "pattern {} pattern {}"),
              ElementsAre(StartsWith("attention.heads: must divide")));
  EXPECT_THAT(ProblemsOf(wrong + "pattern { attention { heads: 7 } }"),
              ElementsAre(StartsWith("pattern[0].attention.heads: must")));
}

// A note about a field outside of the pattern must be reported once, under the
// path of that field.
TEST(ValidateTransformerTest, NotesOfAPatternAppearOnce) {
  EXPECT_THAT(
      ProblemsOf("layers: 2 attention { attention { formula { score: 'q . k' "
                 "} } } pattern {} pattern { feed_forward { hidden: 9 } }",
                 /*memory_width=*/0),
      ElementsAre("note: attention.attention.formula.score: parameters of the "
                  "formula: none"));
  EXPECT_THAT(ProblemsOf("layers: 2 pattern {} pattern { feed_forward { none "
                         "{} hidden: 9 } }"),
              ElementsAre(StartsWith("note: pattern[1].feed_forward.none: ")));
}

// Keys are projected to heads, so the width of the memory may differ from the
// layer's width.
TEST(ValidateTransformerTest, TheMemoryMayHaveAnotherWidth) {
  EXPECT_THAT(ProblemsOf("width: 16 attention { heads: 4 }", 7), IsEmpty());
}

TEST(LayerConfigTest, FillsInTheScoreAndTheHiddenWidth) {
  const TransformerLayerConfig layer = LayerOf(
      Parse("width: 16 attention { heads: 2 attention { dropout: 0.1 } }"), 0);
  EXPECT_TRUE(layer.attention().attention().has_scaled_dot());
  EXPECT_EQ(layer.attention().attention().dropout(), 0.1);
  EXPECT_EQ(layer.feed_forward().hidden(), 64);
}

TEST(LayerConfigTest, CrossAttentionIsSelfAttentionWithoutPositions) {
  const TransformerLayerConfig layer = LayerOf(
      Parse("attention { heads: 2 bias: false attention { additive {} window: "
            "5 position_encoding { rotary {} } } } cross_attention { heads: 4 "
            "attention { dot {} } }"),
      0);
  const MultiHead& cross = layer.cross_attention();
  EXPECT_EQ(cross.heads(), 4);
  EXPECT_FALSE(cross.bias());
  EXPECT_TRUE(cross.attention().has_dot());
  EXPECT_FALSE(cross.attention().has_window());
  EXPECT_FALSE(cross.attention().has_position_encoding());
  EXPECT_TRUE(layer.attention().attention().has_position_encoding());
}

TEST(LayerConfigTest, CrossAttentionInheritsNoScoreThatReadsPositions) {
  for (const std::string score :
       {"relative_dot { max_position: 9 }", "location { max_keys: 9 }",
        "formula { score: 'q . k - abs(i - j)' width: 9 }"}) {
    const std::string self = "attention { attention { " + score + " } } ";
    const auto cross = [&](const std::string& rest) {
      const TransformerLayerConfig layer = LayerOf(Parse(self + rest), 0);
      EXPECT_FALSE(layer.attention().attention().has_scaled_dot());
      return layer.cross_attention().attention();
    };
    EXPECT_TRUE(cross("").has_scaled_dot()) << score;
    EXPECT_TRUE(cross("cross_attention { attention { dot {} } }").has_dot());
    // Cross-attention must keep a score that reads positions if the config
    // names the score, or sets cross_reads_positions.
    const std::string name = score.substr(0, score.find(' '));
    const Attention wanted = Parse(self).attention().attention();
    for (const std::string& rest :
         {"cross_attention { attention { " + name + " {} } }",
          std::string("cross_reads_positions: true")}) {
      EXPECT_EQ(cross(rest).DebugString(), wanted.DebugString()) << rest;
    }
  }
  const Attention formula =
      LayerOf(Parse("attention { attention { formula { score: 'q . k' } } }"),
              0)
          .cross_attention()
          .attention();
  EXPECT_TRUE(formula.has_formula());
}

TEST(LayerConfigTest, APatternRepeats) {
  const TransformerConfig config = Parse(
      "layers: 5 attention { heads: 2 attention { window: 3 } } pattern "
      "{} pattern { attention { attention { window: 9 additive {} } } "
      "feed_forward { hidden: 7 } }");
  for (int i = 0; i < 5; ++i) {
    const TransformerLayerConfig layer = LayerOf(config, i);
    const bool second = i % 2 == 1;
    EXPECT_EQ(layer.attention().heads(), 2);
    EXPECT_EQ(layer.attention().attention().window(), second ? 9 : 3);
    EXPECT_EQ(layer.attention().attention().has_additive(), second);
    EXPECT_EQ(layer.feed_forward().hidden(), second ? 7 : 2048);
  }
}

TEST(ClearDropPathTest, KeepsTheOtherFieldsOfThePattern) {
  const auto cleared = [](const std::string& text) {
    TransformerConfig config = Parse(text);
    ClearDropPath(&config);
    return config.ShortDebugString();
  };
  EXPECT_EQ(cleared("width: 8 drop_path: 0.2 pattern {} pattern { drop_path: "
                    "0.1 }"),
            "width: 8");
  EXPECT_EQ(cleared("pattern { drop_path: 0.1 } pattern { attention { heads: 2 "
                    "} drop_path: 0 }"),
            "pattern { } pattern { attention { heads: 2 } }");
}

TEST(LayerConfigTest, AListReplacesTheInheritedList) {
  const std::string text =
      "attention { heads: 2 attention { formula { score: '(q . k) * t' "
      "parameter { name: 't' initial: 1 } } } } ";
  const std::string other =
      "attention { formula { parameter { name: 't' initial: 2 } } } ";
  const TransformerConfig config =
      Parse(text + "cross_attention { " + other + "} pattern { attention { " +
            other + "} }");
  const TransformerLayerConfig layer = LayerOf(config, 0);
  for (const MultiHead* heads :
       {&layer.attention(), &layer.cross_attention()}) {
    const FormulaScore& formula = heads->attention().formula();
    EXPECT_EQ(formula.score(), "(q . k) * t");
    ASSERT_EQ(formula.parameter_size(), 1);
    EXPECT_EQ(formula.parameter(0).initial(), 2);
  }
}

TEST(ValidateTransformerTest, AStateMixerTakesThePlaceOfAttention) {
  constexpr char kMixer[] = "width: 16 mixer { retention { heads: 2 } } ";
  EXPECT_THAT(ProblemsOf(kMixer), IsEmpty());
  // A state mixer does not replace cross-attention, which therefore still
  // inherits `attention` and reports its problems.
  EXPECT_THAT(ProblemsOf(std::string(kMixer) + "attention { heads: 5 }"),
              ElementsAre(StartsWith("cross_attention.heads: must divide")));
  EXPECT_THAT(ProblemsOf(std::string(kMixer) + "attention { heads: 5 }",
                         /*memory_width=*/0),
              ElementsAre(StartsWith("note: attention: has no effect")));
  EXPECT_THAT(ProblemsOf(std::string(kMixer) +
                             "attention { heads: 4 } pattern {} pattern { "
                             "mixer { attention {} } }",
                         /*memory_width=*/0),
              IsEmpty());
  EXPECT_THAT(ProblemsOf("width: 16 mixer { retention { heads: 5 } }"),
              ElementsAre(StartsWith("mixer.retention.heads: must divide 16")));
  EXPECT_THAT(ProblemsOf("width: 16 attention { heads: 2 } pattern {} pattern "
                         "{ mixer { mamba2 { heads: 5 } } }"),
              ElementsAre(StartsWith("pattern[1].mixer.mamba2.heads: must")));
}

TEST(ValidateTransformerTest, AStateMixerReadsNoLaterPosition) {
  const auto problems = [](const std::string& text) {
    return ProblemsOf("width: 16 attention { heads: 2 } " + text,
                      /*memory_width=*/0, Direction::kBoth);
  };
  EXPECT_THAT(problems("mixer { attention {} }"), IsEmpty());
  EXPECT_THAT(problems("mixer { retention { heads: 2 } }"),
              ElementsAre(AllOf(StartsWith("mixer: requires a model in which"),
                                HasSubstr("use attention {}")),
                          StartsWith("note: attention: has no effect")));
}

TEST(ValidateTransformerTest, AForgetGateRequiresCausalSelfAttention) {
  constexpr char kForgets[] = "attention { attention { forget {} } }";
  // Cross-attention must not inherit the forget gate.
  EXPECT_THAT(ProblemsOf(kForgets), IsEmpty());
  EXPECT_THAT(ProblemsOf("cross_attention { attention { forget {} } }"),
              ElementsAre(AllOf(
                  StartsWith("cross_attention.attention.forget: requires"),
                  HasSubstr("cross-attention reads a memory: remove"))));
  EXPECT_THAT(
      ProblemsOf(kForgets, /*memory_width=*/0, Direction::kBoth),
      ElementsAre(AllOf(StartsWith("attention.attention.forget: requires"),
                        HasSubstr("all positions read each other: remove"))));
  EXPECT_THAT(
      ProblemsOf("pattern {} pattern { attention { attention { forget {} } } }",
                 /*memory_width=*/0, Direction::kBoth),
      ElementsAre(StartsWith("pattern[1].attention.attention.forget: ")));
}

TEST(LayerConfigTest, APatternChoosesTheMixer) {
  AttentionRegistry scorers;
  const TransformerConfig config = Parse(
      "mixer { mamba2 { heads: 2 } } pattern {} pattern { mixer { attention "
      "{} } } pattern { mixer { mamba2 { key_width: 3 } } }");
  EXPECT_EQ(LayerConfig(scorers, config, 0).mixer().mamba2().heads(), 2);
  EXPECT_TRUE(LayerConfig(scorers, config, 1).mixer().has_attention());
  EXPECT_FALSE(LayerConfig(scorers, config, 1).mixer().has_mamba2());
  EXPECT_EQ(LayerConfig(scorers, config, 2).mixer().mamba2().heads(), 2);
  EXPECT_EQ(LayerConfig(scorers, config, 2).mixer().mamba2().key_width(), 3);
}

}  // namespace
}  // namespace regard
