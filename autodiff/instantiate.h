// Explicit instances of templates whose definitions are in a source.
#ifndef AUTODIFF_INSTANTIATE_H_
#define AUTODIFF_INSTANTIATE_H_

// Compile a template of one type parameter for both types of numbers. A
// function is not overloaded.
#define REGARD_INSTANTIATE_CLASS(name) \
  template class name<float>;          \
  template class name<double>
#define REGARD_INSTANTIATE_FUNCTION(name)     \
  template decltype(name<float>) name<float>; \
  template decltype(name<double>) name<double>

#endif  // AUTODIFF_INSTANTIATE_H_
