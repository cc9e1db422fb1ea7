#include "seq2seq/seq2seq_validation.h"

#include "absl/strings/str_cat.h"
#include "nn/recurrent.h"

namespace regard {

namespace {

// The fields that encoder and decoder share.
template <typename Config>
void ValidateStack(const Config& config, ConfigProblems& problems) {
  problems.RequireInRange("embedding", config.embedding(), 1, 65536);
  problems.RequireInRange("hidden", config.hidden(), 1, 65536);
  problems.RequireInRange("layers", config.layers(), 1, kMaxRecurrentLayers);
  problems.RequireInRange("dropout", config.dropout(), 0, 0.999);
  problems.RequireInRange("embedding_dropout", config.embedding_dropout(), 0,
                          0.999);
  if (config.cell() == RecurrentConfig::CELL_UNSPECIFIED) {
    problems.Add("cell", "must be GRU or LSTM");
  }
  if (config.reset_gate() == RecurrentConfig::RESET_GATE_UNSPECIFIED) {
    problems.Add("reset_gate", "must be RESET_BEFORE or RESET_AFTER");
  }
  if (config.cell() == RecurrentConfig::LSTM && config.has_reset_gate()) {
    problems.Add("reset_gate", "an LSTM has no reset gate; this is for GRU");
  }
  if (config.initialization() == INITIALIZATION_UNSPECIFIED) {
    problems.Add("initialization", "must be PYTORCH or XAVIER_UNIFORM");
  }
}

void ValidateDecoder(const RecurrentEncoderConfig& encoder,
                     const RecurrentDecoderConfig& decoder,
                     ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, "decoder");
  ValidateStack(decoder, problems);
  problems.RequireInRange("hidden_dropout", decoder.hidden_dropout(), 0, 0.999);
  if (decoder.context() == RecurrentDecoderConfig::CONTEXT_UNSPECIFIED) {
    problems.Add("context", "must be ATTENTION, LAST_STATE or NO_CONTEXT");
  }
  if (decoder.query() == RecurrentDecoderConfig::QUERY_UNSPECIFIED) {
    problems.Add("query", "must be PREVIOUS_STATE or CURRENT_STATE");
  }
  if (decoder.readout() == RecurrentDecoderConfig::READOUT_UNSPECIFIED) {
    problems.Add("readout",
                 "must be STATE, STATE_CONTEXT_EMBEDDING or ATTENTIONAL");
  }
  switch (decoder.initial_state()) {
    case RecurrentDecoderConfig::FINAL_STATE:
      if (encoder.layers() != decoder.layers() ||
          encoder.hidden() != decoder.hidden() ||
          encoder.cell() != decoder.cell()) {
        problems.Add(
            "initial_state",
            absl::StrCat(
                "FINAL_STATE needs an encoder and a decoder of one cell, width "
                "and number of layers; the encoder has ",
                encoder.layers(), " of ", encoder.hidden(), ", the decoder ",
                decoder.layers(), " of ", decoder.hidden(),
                "; PROJECTED fits any"));
      }
      break;
    case RecurrentDecoderConfig::INITIAL_STATE_UNSPECIFIED:
      problems.Add("initial_state", "must be FINAL_STATE, PROJECTED or ZERO");
      break;
    default:
      break;
  }
  if (decoder.context() == RecurrentDecoderConfig::NO_CONTEXT &&
      decoder.readout() != RecurrentDecoderConfig::STATE) {
    problems.Add("readout", "NO_CONTEXT leaves nothing to read but STATE");
  }
  if (decoder.context() == RecurrentDecoderConfig::NO_CONTEXT &&
      decoder.initial_state() == RecurrentDecoderConfig::ZERO) {
    problems.Add("initial_state",
                 "NO_CONTEXT and ZERO hide the source from the decoder");
  }
  if (decoder.context() != RecurrentDecoderConfig::NO_CONTEXT &&
      decoder.query() == RecurrentDecoderConfig::CURRENT_STATE &&
      decoder.readout() == RecurrentDecoderConfig::STATE) {
    problems.Add("readout",
                 "with query: CURRENT_STATE the context must be read out: "
                 "ATTENTIONAL or STATE_CONTEXT_EMBEDDING");
  }
  if (decoder.input_feeding() &&
      decoder.readout() != RecurrentDecoderConfig::ATTENTIONAL) {
    problems.Add("input_feeding", "needs readout: ATTENTIONAL");
  }
}

}  // namespace

int EncoderOutputWidth(const RecurrentEncoderConfig& encoder) {
  return encoder.hidden() * (encoder.bidirectional() ? 2 : 1);
}

void ValidateSeq2Seq(const RecurrentEncoderConfig& encoder,
                     const RecurrentDecoderConfig& decoder,
                     const Attention* attention, const ScorerRegistry& scorers,
                     ConfigProblems& problems) {
  {
    const ConfigProblems::Scope scope(problems, "encoder");
    ValidateStack(encoder, problems);
  }
  ValidateDecoder(encoder, decoder, problems);
  if (decoder.context() != RecurrentDecoderConfig::ATTENTION) return;
  const ConfigProblems::Scope scope(problems, "attention");
  if (attention == nullptr) {
    problems.Add("",
                 "the decoder attends, but no score is chosen; give one, as in "
                 "attention { additive {} }");
    return;
  }
  scorers.Validate(*attention,
                   {.heads = 1,
                    .query = decoder.hidden(),
                    .key = EncoderOutputWidth(encoder)},
                   problems);
}

}  // namespace regard
