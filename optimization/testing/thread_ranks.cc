#include "optimization/testing/thread_ranks.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The bytes that one rank offers to another.
struct Offer {
  absl::Span<const uint8_t> bytes;
  bool open = false;
};

struct Offers {
  explicit Offers(int size) : size(size), all(size * size) {}

  Offer& of(int from, int to) { return all[from * size + to]; }

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Offer> all;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Offers& offers, int rank) : offers_(offers), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return offers_.size; }

  void Exchange(int partner, absl::Span<const uint8_t> sent,
                absl::Span<uint8_t> received) override {
    REGARD_CHECK(partner >= 0 && partner < size() && partner != rank_)
        << "rank " << rank_ << " with " << partner;
    std::unique_lock<std::mutex> lock(offers_.mutex);
    Offer& mine = offers_.of(rank_, partner);
    Offer& theirs = offers_.of(partner, rank_);
    mine = {sent, /*open=*/true};
    offers_.changed.notify_all();
    offers_.changed.wait(lock, [&] { return theirs.open; });
    REGARD_CHECK_EQ(theirs.bytes.size(), received.size());
    std::copy(theirs.bytes.begin(), theirs.bytes.end(), received.begin());
    theirs.open = false;
    offers_.changed.notify_all();
    offers_.changed.wait(lock, [&] { return !mine.open; });
  }

 private:
  Offers& offers_;
  const int rank_;
};

}  // namespace

void RunRanks(int size, absl::FunctionRef<void(Ranks& ranks)> work) {
  Offers offers(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&offers, rank, work] {
      ThreadRanks ranks(offers, rank);
      work(ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace regard
