#include "experiments/tasks/former_runs.h"

#include "absl/strings/match.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "experiments/experiment.pb.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

void SetFormerDefaults(const ConfigPathOrText& source,
                       const AttentionRegistry& scorers, Experiment* config) {
  if (source.name.substr(source.name.rfind('/') + 1) != "resolved.textproto") {
    return;
  }
  const auto inherits = [&](const TransformerConfig& decoder) {
    return !decoder.has_cross_reads_positions() &&
           ReadsPositions(scorers, decoder);
  };
  const ModelConfig& model = config->model();
  TransformerConfig decoder = model.transformer();
  MergeTransformerInto(model.transformer_decoder(), &decoder);
  if (model.has_transformer() && inherits(decoder)) {
    config->mutable_model()->mutable_transformer()->set_cross_reads_positions(
        true);
  }
  if (inherits(model.captioner().decoder())) {
    config->mutable_model()
        ->mutable_captioner()
        ->mutable_decoder()
        ->set_cross_reads_positions(true);
  }
}

void SetFormerTextVersion(const ConfigPathOrText& run, Experiment* config) {
  if (!absl::EndsWith(run.name, "resolved.textproto") ||
      config->data().has_text_version()) {
    return;
  }
  Experiment before;
  // Ignores errors, because other callers of ReadConfig() report them.
  if (!ReadConfig(run, {}, &before).ok()) return;
  config->mutable_data()->set_text_version(
      before.data().has_text_version() ? before.data().text_version() : 0);
}

absl::StatusOr<Experiment> ReadFormerConfig(const ConfigPathOrText& run,
                                            const AttentionRegistry& scorers,
                                            const Experiment& config) {
  Experiment stored;
  REGARD_RETURN_IF_ERROR(ReadConfig(run, {}, &stored).status());
  SetFormerTextVersion(run, &stored);
  SetFormerDefaults(run, scorers, &stored);
  if (!config.search().has_max_length() &&
      !config.search().has_max_length_ratio() &&
      stored.search().max_length() == 10 &&
      stored.search().max_length_ratio() == 2) {
    stored.mutable_search()->clear_max_length();
    stored.mutable_search()->clear_max_length_ratio();
  }
  return stored;
}

}  // namespace regard
