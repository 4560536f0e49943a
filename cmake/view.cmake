# bitfold-view, the window of 'bitfold julia --view', where SDL2 is. All but what talks to SDL2 is
# built anyway, for the tests.

add_library(bitfold_viewing STATIC EXCLUDE_FROM_ALL
            view/control.c view/font.c view/renderer.c view/schedule.c view/view.c view/words.c)
target_include_directories(bitfold_viewing PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(bitfold_viewing PUBLIC bitfold_cli)
bitfold_warnings(bitfold_viewing)

if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(SDL2 QUIET IMPORTED_TARGET sdl2>=2.0.18)
endif()
if(NOT SDL2_FOUND)
    message(STATUS "bitfold-view is left out: no SDL2 (libsdl2-dev)")
    return()
endif()
target_sources(bitfold_viewing PRIVATE view/paint.c view/window.c)
target_link_libraries(bitfold_viewing PUBLIC PkgConfig::SDL2)
target_compile_definitions(bitfold_viewing PUBLIC BITFOLD_SDL)

add_executable(bitfold_view view/main.c)
set_target_properties(bitfold_view PROPERTIES
    OUTPUT_NAME bitfold-view RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(bitfold_view PRIVATE bitfold_viewing)
bitfold_warnings(bitfold_view)
if(bitfold_cuda)
    bitfold_link_as_c(bitfold_view)
endif()
