// The labels of a text's tokens in traces of a BERT.
#ifndef LANGUAGE_BERT_TRACE_H_
#define LANGUAGE_BERT_TRACE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/inspection/trace.h"
#include "data/text/wordpiece.h"

namespace regard {

// The hook points of the layers' residual streams.
inline constexpr char kBertResiduals[] = "bert/layers[*]/*/residual";

// Returns labels for the ids of one text, including [CLS] and [SEP]. Outputs
// have no labels.
inline TraceDescription BertTraceDescription(const WordPiece& pieces,
                                             absl::Span<const int32_t> ids) {
  TraceDescription labels = {.sequences = {{.name = "text"}}, .sites = {{"*"}}};
  for (const int32_t id : ids) {
    labels.sequences[0].labels.push_back(pieces.Token(id));
  }
  return labels;
}

}  // namespace regard

#endif  // LANGUAGE_BERT_TRACE_H_
