#include "experiments/testing/random_fields.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/text_format.h"
#include "third_party/abseil_backport/check.h"

namespace regard::testing {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::OneofDescriptor;
using ::google::protobuf::Reflection;

// Values of fields: "NAME VALUE|VALUE;". NAME is a field of one message, or of
// every message that has it. "!" means that the field is always set, because
// its default is too large. "@" is the folder of files.
constexpr char kValues[] =
    R"(name random; Baseline.name plain; seed 0|1|12345678901234567890; num_shards 1|2|3|5;
keep_float32 *attention|*layer*; Override.path !loss.scale|training.batch_size; Override.value !3|4;
TransformerConfig.width !8|16; layers !1|2; embedding !4|6;
RecurrentEncoderConfig.hidden !8; RecurrentDecoderConfig.hidden !8|8|8|6;
FeedForwardConfig.hidden 0|12; heads !1|2|4; key_heads 0|1|2;
head_width 0|4|6; rank 0|1|5; rotary_width 0|2|4; query_rank 0|3; rotary_base 10000|100; output_width 0|8; value_heads 0|1|2; key_width 0|4; value_width 0|3|4;
GateOutput.bias 0|2; NormOutput.epsilon 1e-5|0.1; DifferentialOutput.bias 0|-1; Forget.bias 0|2|6;
MobaSelection.top_k 2|1; NsaBlocksSelection.top_n 3|4; block_size 2|3|64; initial_blocks 1|0; local_blocks 2|1; Mamba2Mixer.key_width !3|4; logit 0|1|-2; cap 50|1; width 0|2|5; KernelScore.width 1|0.5;
FormulaScore.score !q . W k|v . tanh(W q + U k + b)|max(v . q, s) * j|q . W k + b[i - j]|(W x_i) . (V x_j) - s * head; FormulaParameter.name W|v|b; FormulaTable.lowest 0|-2; FormulaTable.highest 0|1|30; rows 0|3; FormulaParameter.columns 0; initial 1|0.5; filters 1|3; reach 0|1|2; max_keys 64|3; max_position 512|40|6;
window 0|1|3; base 10000|100; buckets 8|6; max_distance 20|9;
ScoreScale.value 1|0.5|-2; SigmoidNormalizer.bias 0|-1|0.5; ScalableSoftmaxNormalizer.scale 0.43|1|0; ScalableSoftmaxNormalizer.bias 1|0; TopKMap.keys 32|1|3; QueryKeyNormConfig.epsilon 1e-6|0.1; trained_length 512|2|4; length_power 1|0.5|0;
dropout 0|0.1|0.5; embedding_dropout 0|0.1|0.5; hidden_dropout 0|0.1|0.5;
drop_path 0|0.3; chunk 0|3; NormConfig.epsilon 1e-5|1e-12; longest 64|40|6;
standard_deviation 0.02|0.1; embedding_deviation 0|0.02|1; layer -1|0|1;
head -1|0|1; map_layer -1|0|1; probability 0.25|1;
ScheduledSamplingConfig.updates 0|3; types 2|3; block !16|12; stride 0|5|16;
evaluation_stride 0|4; share 0.15|0.5; mask_share 0.8|0.5;
random_share 0.1|0.5; next_sentence_weight 1|0|0.5; min_frequency 1|2;
MaskedWordsConfig.vocabulary @vocabulary; patch !4|2; shift 0|1; crop 1|0.7;
prompt a picture of||a; LanguageModelConfig.transformer !;
BytePairsConfig.folder !pretrained/testdata/gpt2;
BytePairsConfig.begin <|endoftext|>; BytePairsConfig.end <|endoftext|>|;
BertConfig.transformer !; VisionTransformerConfig.transformer !;
TextClassifierConfig.bert !; TextEmbedderConfig.bert !;
WordPieceConfig.vocabulary @vocabulary; longest_word 100|3;
WordPieceConfig.unknown [UNK]; WordPieceConfig.classifier [CLS];
WordPieceConfig.separator [SEP]; padding [PAD]; WordPieceConfig.mask [MASK];
highest 1|5; CaptionerConfig.vision_transformer !;
CaptionerConfig.decoder !; CaptionerConfig.begin [DEC]; ids 0;
shorter_side 0|9; train !24|33; PhrasebookConfig.train !50|60;
dev !0|4|5; test !2|3; test_unseen_pairs !2|3; FashionMnistConfig.train 0|24;
symbols 5|11; RepeatedTokensConfig.length 2|3; most_before 0|2; most_gap 0|2;
AssociativeRecallConfig.vocabulary !12|9; AssociativeRecallConfig.length !12|17;
AssociativeRecallConfig.pairs !2|3; AssociativeRecallConfig.exponent 0.01|1; TokenClassifierConfig.transformer !;
ParityConfig.min_length 1|3; ParityConfig.max_length !4|5; ParityConfig.min_test_length !2|6; ParityConfig.max_test_length !7|9;
ImagesConfig.path @classes; ImagesConfig.labels @pictures; CaptionsConfig.list @pictures; root @;
ImageFormat.height !8|12; ImageFormat.width !8|12; red 0.5|0.25; green 0.5;
blue 0.5; ReverseConfig.max_length !3|5; max_test_length !5|6;
CopyConfig.min_length !1|2; CopyConfig.max_length !3|5;
min_apart_length 1|6; max_apart_length 0|7; vocabulary !9; characters !300;
source_vocabulary !9|12; target_vocabulary !9|12; source_words !3|4;
target_words !3|4; pairs !24; size !8|12; side !4|8; points !12|20; TableConfig.target b|c; TableConfig.columns a; separator ,;
exponent 0.8|1; noise 0|0.5; dev_fraction 0|0.1|0.2; test_fraction 0|0.1;
source_column 0|1; target_column 1|0|2; max_pairs 0|40; cut_tokens 0|4;
dev_pairs 0|5; max_tokens 0|20; max_ratio 0|9; dev_sample 0|5;
SamplePair.source a red lion .|two;
SamplePair.reference un lion rouge .|deux; PairFilesConfig.path @pairs;
PairFilesConfig.name |a|b-1; vocabulary_size !40|60;
character_coverage 1|0.99;
normalization nmt_nfkc|nfkc|nmt_nfkc_cf|nfkc_cf|identity;
source_model @bpe.model|@unigram.model; target_model @bpe.model|@char.model;
alpha 0.1|0.5; nbest_size -1|4; beam 1|2|3; length_penalty 1|0;
coverage_penalty 0|0.2; SearchConfig.min_length 0|2;
SearchConfig.max_length !4|6; max_length_ratio !1|0.5; n_best 1|2;
temperature 1|0.5; top_k 0|3; top_p 1|0.9; min_p 0|0.1; scale 1|0.5;
repetition_penalty 1|1.2; no_repeat_ngram 0|2;
label_smoothing 0|0.1; learning_rate 0.001|0.01; clip_norm 0|1;
accumulate_batches 1|2; momentum 0|0.9; weight_decay 0|0.01; beta1 0.9|0;
beta2 0.999|0.9; epsilon 1e-8|1e-6; decay 0.5|0.9; interval 1000|2;
warmup 0|2; InverseSquareRootScheduleConfig.warmup !1|3; updates 0|6;
floor 0|0.1; power 1|2;
metric dev/loss|dev/bleu|dev/accuracy|dev/exact_match|dev/mse;
patience 0|1|5; min_learning_rate 0|1e-4; threshold 1e-4|0.1;
Experiment.training !; epochs !2|3; batch_size !8|7;
examples_per_epoch 0|20; log_every 0|1|3; evaluate_every 1|0|2;
checkpoint_every 0|1|2; keep_checkpoints 2|1|3; batch_tokens 0|90;
length_step 1|3; min_gain 0|0.01; average 0|2; max_updates !6|9;
max_minutes 0|1000; ema_decay 0|0.9;)";

// Fields that are not drawn:
//   * `base`, because it names a file,
//   * the paths of data, because the caller sets them,
//   * fields about hook points, because these depend on the model,
//   * `none`, because it excludes all other fields,
//   * `note` and `tags`, because they have no effect, and
//   * fields that require a run with the same parameters.
constexpr const char* kNotDrawn[] = {"regard.Experiment.base",
                                     "regard.Experiment.intervene",
                                     "regard.Experiment.note",
                                     "regard.Experiment.probe",
                                     "regard.Experiment.tags",
                                     "regard.PairFilesConfig.source",
                                     "regard.PairFilesConfig.target",
                                     "regard.FeedForwardConfig.none",
                                     "regard.Forget.none",
                                     "regard.Latent.none",
                                     "regard.Sink.none",
                                     "regard.Data.path",
                                     "regard.Data.dev_path",
                                     "regard.Data.text_version",
                                     "regard.Training.initial_weights",
                                     "regard.TextClassifierConfig.pretrained"};

const char* ValuesOf(const FieldDescriptor& field) {
  static const auto* const values = [] {
    auto* const table = new std::map<std::string, std::string>;
    for (absl::string_view entry :
         absl::StrSplit(kValues, ';', absl::SkipWhitespace())) {
      table->insert(absl::StrSplit(absl::StripAsciiWhitespace(entry),
                                   absl::MaxSplits(' ', 1)));
    }
    return table;
  }();
  auto found = values->find(
      absl::StrCat(field.containing_type()->name(), ".", field.name()));
  if (found == values->end() &&
      field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    found = values->find(std::string(field.name()));
  }
  return found == values->end() ? nullptr : found->second.c_str();
}

std::string ChoiceOf(const FieldDescriptor& field, const std::string& value) {
  return absl::StrCat(field.full_name(), "=", value);
}

void AddAllChoices(const Descriptor& type, std::set<std::string>* seen,
                   std::set<std::string>* choices) {
  if (!seen->insert(std::string(type.full_name())).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!IsDrawn(field)) continue;
    if (field.real_containing_oneof() != nullptr) {
      choices->insert(std::string(field.full_name()));
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddAllChoices(*field.message_type(), seen, choices);
    } else if (const EnumDescriptor* values = field.enum_type()) {
      for (int j = 1; j < values->value_count(); ++j) {
        choices->insert(ChoiceOf(field, std::string(values->value(j)->name())));
      }
    }
  }
}

}  // namespace

bool IsAlwaysGiven(const FieldDescriptor& field) {
  const char* const values = ValuesOf(field);
  return values != nullptr && values[0] == '!';
}

bool IsDrawn(const FieldDescriptor& field) {
  for (const char* name : kNotDrawn) {
    if (field.full_name() == name) return false;
  }
  return field.name() != "outside";
}

RandomFields::RandomFields(std::string folder) : folder_(std::move(folder)) {}

int64_t RandomFields::UniformInt(int64_t bound) {
  return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound));
}

std::string RandomFields::DrawText(const FieldDescriptor& field) {
  const char* const values = ValuesOf(field);
  REGARD_CHECK(values != nullptr)
      << "kValues has none for " << std::string(field.full_name());
  const std::vector<std::string> choices =
      absl::StrSplit(values + (values[0] == '!' ? 1 : 0), '|');
  return absl::StrReplaceAll(
      choices[UniformInt(static_cast<int64_t>(choices.size()))],
      {{"@", folder_}});
}

void RandomFields::DrawField(Message* message, const FieldDescriptor* field) {
  const Reflection& fields = *message->GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* const inner = fields.MutableMessage(message, field);
    inner->Clear();
    Fill(inner);
  } else if (const EnumDescriptor* values = field->enum_type()) {
    fields.SetEnum(message, field,
                   values->value(1 + UniformInt(values->value_count() - 1)));
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    fields.SetBool(message, field, UniformInt(2) == 1);
  } else {
    const std::string value = DrawText(*field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      fields.SetString(message, field, value);
    } else {
      REGARD_CHECK(google::protobuf::TextFormat::ParseFieldValueFromString(
          value, field, message))
          << std::string(field->full_name());
    }
  }
}

void RandomFields::Fill(Message* message) {
  const Descriptor& type = *message->GetDescriptor();
  for (int i = 0; i < type.real_oneof_decl_count(); ++i) {
    const OneofDescriptor& oneof = *type.oneof_decl(i);
    const FieldDescriptor* member =
        oneof.field(UniformInt(oneof.field_count()));
    if (IsDrawn(*member)) DrawField(message, member);
  }
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (!IsDrawn(*field) || field->real_containing_oneof() != nullptr) continue;
    if (field->is_repeated()) {
      for (int64_t left = DrawCount(); left > 0; --left) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Fill(message->GetReflection()->AddMessage(message, field));
        } else {
          message->GetReflection()->AddString(message, field, DrawText(*field));
        }
      }
    } else if (IsAlwaysGiven(*field) || IsPresent()) {
      DrawField(message, field);
    }
  }
}

std::set<std::string> AllChoices(const Descriptor& type) {
  std::set<std::string> seen;
  std::set<std::string> choices;
  AddAllChoices(type, &seen, &choices);
  return choices;
}

void AddChoices(const Message& message, std::set<std::string>* choices) {
  const Reflection& fields = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  fields.ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    if (field->real_containing_oneof() != nullptr) {
      choices->insert(std::string(field->full_name()));
    }
    if (field->enum_type() != nullptr) {
      choices->insert(ChoiceOf(
          *field, std::string(fields.GetEnum(message, field)->name())));
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      AddChoices(fields.GetMessage(message, field), choices);
      continue;
    }
    for (int i = 0; i < fields.FieldSize(message, field); ++i) {
      AddChoices(fields.GetRepeatedMessage(message, field, i), choices);
    }
  }
}

}  // namespace regard::testing
