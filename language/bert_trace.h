// How the tokens of a text are named where a BERT is looked at.
#ifndef LANGUAGE_BERT_TRACE_H_
#define LANGUAGE_BERT_TRACE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/inspection/trace.h"
#include "data/text/wordpiece.h"

namespace regard {

// The layers' residuals.
inline constexpr char kBertResiduals[] = "bert/layers[*]/*/residual";

// Of one text, [CLS] and [SEP] included; without outputs.
inline TraceLabels BertLabels(const WordPiece& pieces,
                              absl::Span<const int32_t> ids) {
  TraceLabels labels = {.sequences = {{.name = "text"}}, .sites = {{"*"}}};
  for (const int32_t id : ids) {
    labels.sequences[0].labels.push_back(pieces.Token(id));
  }
  return labels;
}

}  // namespace regard

#endif  // LANGUAGE_BERT_TRACE_H_
