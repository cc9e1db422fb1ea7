// A decoder without parameters as the member of a search, for tests.
#ifndef SEQ2SEQ_TESTING_SEARCH_MEMBER_H_
#define SEQ2SEQ_TESTING_SEARCH_MEMBER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/memory.h"

namespace regard {

// A decoder with its own tape.
class TestMember {
 public:
  // `decoder` must outlive this object.
  explicit TestMember(const Decoder<float>& decoder) : decoder_(decoder) {
    none_.Finalize(0);
    forward_.emplace(tape_, none_, nullptr);
  }

  EnsembleMember MakeMember(
      const std::function<Memory<float>(Forward<float>&)>& encode) {
    return {&decoder_, &*forward_, encode};
  }
  // Returns a member with `sources` sources and no memory.
  EnsembleMember MakeMember(int64_t sources) {
    return MakeMember([sources](Forward<float>&) {
      return Memory<float>{.sources = sources};
    });
  }
  Forward<float>& forward() { return *forward_; }

 private:
  const Decoder<float>& decoder_;
  ParameterStore<float> none_;
  Tape<float> tape_;
  std::optional<Forward<float>> forward_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TESTING_SEARCH_MEMBER_H_
