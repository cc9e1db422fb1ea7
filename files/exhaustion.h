// How a program ends that gets no more memory or threads.
#ifndef FILES_EXHAUSTION_H_
#define FILES_EXHAUSTION_H_

namespace regard {

// From now on, std::bad_alloc and std::system_error, which nothing catches, end
// the process with a message on standard error and exit code 1.
void EndWithMessageIfExhausted();

}  // namespace regard

#endif  // FILES_EXHAUSTION_H_
