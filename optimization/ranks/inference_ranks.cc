#include "optimization/ranks/inference_ranks.h"

#include <utility>

namespace regard {

namespace {

// The ranks of the innermost InferenceRanks of this thread, or null.
thread_local Ranks* inference_ranks = nullptr;

}  // namespace

InferenceRanks::InferenceRanks(Ranks* ranks)
    : outer_(std::exchange(
          inference_ranks,
          ranks != nullptr && ranks->size() > 1 ? ranks : nullptr)) {}

InferenceRanks::~InferenceRanks() { inference_ranks = outer_; }

Ranks* InferenceRanks::Current() { return inference_ranks; }

}  // namespace regard
