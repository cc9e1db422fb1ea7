// Records how many examples a model processes at once.
#ifndef NN_TESTING_ROWS_OF_H_
#define NN_TESTING_ROWS_OF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"

namespace regard {

// Runs compute(), which uses `forward`. Returns the size of the first axis at
// each visit of a hook point that matches `pattern`.
template <typename F>
std::vector<int64_t> RecordRowCounts(Forward<float>& forward,
                                     const std::string& pattern, F compute) {
  SiteValueRecorder<float> recorder({pattern});
  const ScopedExtraHook<float> watch(forward, &recorder);
  compute();
  std::vector<int64_t> rows;
  for (const auto& seen : recorder.seen()) rows.push_back(seen.shape[0]);
  return rows;
}

}  // namespace regard

#endif  // NN_TESTING_ROWS_OF_H_
