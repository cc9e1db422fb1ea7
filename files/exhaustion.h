// Ends a program with a message if it runs out of memory or threads.
#ifndef FILES_EXHAUSTION_H_
#define FILES_EXHAUSTION_H_

namespace regard {

// Installs a handler for uncaught std::bad_alloc and std::system_error. It ends
// the process with a message on standard error and exit code 1.
void EndWithMessageIfExhausted();

}  // namespace regard

#endif  // FILES_EXHAUSTION_H_
