// Macros that explicitly instantiate templates in source files.
#ifndef AUTODIFF_INSTANTIATE_H_
#define AUTODIFF_INSTANTIATE_H_

// Instantiate a template with one type parameter for float and double. A
// function must not be overloaded.
#define REGARD_INSTANTIATE_CLASS(name) \
  template class name<float>;          \
  template class name<double>
#define REGARD_INSTANTIATE_FUNCTION(name)     \
  template decltype(name<float>) name<float>; \
  template decltype(name<double>) name<double>

#endif  // AUTODIFF_INSTANTIATE_H_
