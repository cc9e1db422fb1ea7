#include "optimization/ranks/mpi_ranks.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenBeats(250);
constexpr std::chrono::milliseconds kWhileEnding(10);
// A rank that is silent for longer than this counts as lost. mpirun takes some
// time to end the other ranks. Including this time, the job ends in less than
// ten seconds.
constexpr std::chrono::seconds kSilence(6);

constexpr char kBeat = 1;
constexpr char kGoodbye = 2;

// The size of a message. Open MPI sends a message of this size by TCP without
// asking the receiver first. Longer messages would keep both directions of a
// connection waiting for replies.
constexpr size_t kMessageBytes = 60 << 10;
// The number of messages in transit at a time, in each direction.
constexpr int kMaxMessages = 32;

// The time of a short message on a fast network. After this time, a waiting
// thread sleeps, so that other threads can use the core. MPI's own waits would
// spin and slow down this rank's next shards if other programs use the cores.
// Calling sched_yield() instead of sleeping does not help.
constexpr std::chrono::microseconds kSpin(100);
constexpr std::chrono::microseconds kNap(20);
// The time by which the kernel may lengthen a sleep. The default is 50,000
// nanoseconds.
constexpr uint64_t kSlackNanoseconds = 1;

// Waits until some of the requests have ended. Returns their number and sets
// `ended`. Returns MPI_UNDEFINED if no request is active.
int AwaitSome(int count, MPI_Request* requests, int* ended,
              MPI_Status* statuses) {
  const Clock::time_point start = Clock::now();
  while (true) {
    int some = 0;
    MPI_Testsome(count, requests, &some, ended, statuses);
    if (some != 0) return some;
    if (Clock::now() - start > kSpin) std::this_thread::sleep_for(kNap);
  }
}

// Removes the next message from the front of `bytes` and returns it.
template <typename T>
absl::Span<T> TakeMessage(absl::Span<T>* bytes) {
  const absl::Span<T> message =
      bytes->first(std::min(bytes->size(), kMessageBytes));
  bytes->remove_prefix(message.size());
  return message;
}

std::vector<std::string> Machines(int size) {
  std::vector<char> name(MPI_MAX_PROCESSOR_NAME, '\0');
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  const int width = MPI_MAX_PROCESSOR_NAME;
  std::vector<char> names(static_cast<size_t>(size * width));
  MPI_Allgather(name.data(), width, MPI_CHAR, names.data(), width, MPI_CHAR,
                MPI_COMM_WORLD);
  std::vector<std::string> machines;
  for (int rank = 0; rank < size; ++rank) {
    machines.emplace_back(names.data() + rank * width);
  }
  return machines;
}

}  // namespace

MpiRanks::MpiRanks(int* argc, char*** argv) {
  // The timer slack applies to this thread, and to threads that it starts
  // later.
  prctl(PR_SET_TIMERSLACK, kSlackNanoseconds);
  int threads = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &threads);
  if (threads < MPI_THREAD_MULTIPLE) {
    std::fputs("error: the MPI library must support MPI_THREAD_MULTIPLE\n",
               stderr);
    EndAll(EXIT_FAILURE);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  machines_ = Machines(size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &beats_);
  if (size_ > 1) watch_ = std::thread([this] { ExchangeHeartbeatsUntilEnd(); });
}

void MpiRanks::Exchange(int partner, absl::Span<const uint8_t> sent,
                        absl::Span<uint8_t> received) {
  MPI_Request requests[2 * kMaxMessages];
  int wanted[kMaxMessages];  // sizes of receiving requests, in bytes
  int incoming = 0;          // number of receiving requests, which come first
  int all = 0;
  const auto receive_next = [&](int request) {
    const auto message = TakeMessage(&received);
    wanted[request] = static_cast<int>(message.size());
    MPI_Irecv(message.data(), wanted[request], MPI_BYTE, partner, /*tag=*/0,
              MPI_COMM_WORLD, &requests[request]);
  };
  const auto send_next = [&](int request) {
    const auto message = TakeMessage(&sent);
    MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE,
              partner, /*tag=*/0, MPI_COMM_WORLD, &requests[request]);
  };
  while (incoming < kMaxMessages && !received.empty()) {
    receive_next(incoming++);
  }
  for (all = incoming; all < incoming + kMaxMessages && !sent.empty(); ++all) {
    send_next(all);
  }
  int ended[2 * kMaxMessages];
  MPI_Status statuses[2 * kMaxMessages];
  for (int some = AwaitSome(all, requests, ended, statuses);
       some != MPI_UNDEFINED;
       some = AwaitSome(all, requests, ended, statuses)) {
    for (int i = 0; i < some; ++i) {
      const int request = ended[i];
      if (request >= incoming) {
        if (!sent.empty()) send_next(request);
        continue;
      }
      int bytes = 0;
      MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
      REGARD_CHECK_EQ(bytes, wanted[request]);
      if (!received.empty()) receive_next(request);
    }
  }
}

int MpiRanks::End(int code) {
  // With such a code, this rank has failed. The other ranks may wait for
  // messages that it does not send.
  if (code != 0 && code <= 128) EndAll(code);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (watch_.joinable()) watch_.join();
  MPI_Finalize();
  return code;
}

void MpiRanks::EndAll(int code) {
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

bool MpiRanks::SleepAndCheckEnding() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ending_) {
    lock.unlock();
    std::this_thread::sleep_for(kWhileEnding);
    return true;
  }
  return changed_.wait_for(lock, kBetweenBeats, [this] { return ending_; });
}

void MpiRanks::ExchangeHeartbeatsUntilEnd() {
  const int next = (rank_ + 1) % size_;
  const int previous = (rank_ + size_ - 1) % size_;
  char said = kBeat;
  char heard = kBeat;
  bool parted = false;  // whether the next rank has said goodbye
  MPI_Request saying = MPI_REQUEST_NULL;
  MPI_Request hearing;
  MPI_Irecv(&heard, 1, MPI_CHAR, next, 0, beats_, &hearing);
  Clock::time_point last_heard = Clock::now();
  Clock::time_point last_turn = last_heard;
  for (bool ending = false;
       !parted || said != kGoodbye || saying != MPI_REQUEST_NULL;
       ending = SleepAndCheckEnding()) {
    int done = 0;
    MPI_Test(&saying, &done, MPI_STATUS_IGNORE);
    if (done != 0 && said != kGoodbye) {
      said = ending ? kGoodbye : kBeat;
      MPI_Isend(&said, 1, MPI_CHAR, previous, 0, beats_, &saying);
    }
    const Clock::time_point now = Clock::now();
    // If this rank was stopped for a while, it must first read the messages
    // that arrived in this time.
    if (now - last_turn > kSilence / 2) last_heard = now;
    last_turn = now;
    if (parted) continue;
    MPI_Test(&hearing, &done, MPI_STATUS_IGNORE);
    if (done != 0) {
      last_heard = now;
      parted = heard == kGoodbye;
      if (!parted) MPI_Irecv(&heard, 1, MPI_CHAR, next, 0, beats_, &hearing);
    } else if (now - last_heard > kSilence) {
      std::fprintf(stderr,
                   "rank %d on %s has not responded for %d seconds: all ranks "
                   "stop, and the last checkpoint of rank 0 remains\n",
                   next, machines_[next].c_str(),
                   static_cast<int>(kSilence.count()));
      // Announces the end, so that the previous rank does not report this rank
      // as lost.
      MPI_Isend(&kGoodbye, 1, MPI_CHAR, previous, 0, beats_, &saying);
      MPI_Test(&saying, &done, MPI_STATUS_IGNORE);
      EndAll(EXIT_FAILURE);
    }
  }
}

}  // namespace regard
